# SPDX-License-Identifier: Apache-2.0
"""Ways to make faults, one module each."""

from faults.methods import every_field
from faults.points import Method

METHODS: tuple[Method, ...] = (every_field.METHOD,)
