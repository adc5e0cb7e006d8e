# SPDX-License-Identifier: Apache-2.0
"""Creates projects of operators, and the CRDs of their kinds from the argument specs of roles."""
