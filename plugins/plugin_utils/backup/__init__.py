# SPDX-License-Identifier: Apache-2.0
"""The actions about backups, as Ansible calls them."""
