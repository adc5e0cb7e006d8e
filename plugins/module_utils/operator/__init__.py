# SPDX-License-Identifier: Apache-2.0
"""The operator's own objects: what a playbook installs, upgrades and removes. Pure functions."""
