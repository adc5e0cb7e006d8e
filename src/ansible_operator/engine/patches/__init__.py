# SPDX-License-Identifier: Apache-2.0
"""Every touch of a private Ansible API, one file each."""
