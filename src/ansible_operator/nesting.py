# SPDX-License-Identifier: Apache-2.0
"""How deeply mappings and lists may be nested, in everything that others write.

Python's recursion ends at 1,000 levels, and functions of Ansible that call themselves several times
a level fail from 250 on, or take JSON for something else.
"""

OBJECT_LEVELS = 100
"""Levels of an object of the API server. Those of Kubernetes and CRDs of them have 50 at most."""

VALUE_LEVELS = 2 * OBJECT_LEVELS
"""Levels of a variable or of a task's result: objects stand in them below levels of their own."""
