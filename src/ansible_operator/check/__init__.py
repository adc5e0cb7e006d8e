# SPDX-License-Identifier: Apache-2.0
"""Says, by file and line, what of an operator's project will not work, or works differently, here.

Only reads: nothing of the project is imported or run, and Ansible is not loaded.
"""
