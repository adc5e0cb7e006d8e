# SPDX-License-Identifier: Apache-2.0
WHO = "helped by the role"
