# SPDX-License-Identifier: Apache-2.0
"""Ways to make faults, one module each."""

from faults.methods import (
    aged,
    every_field,
    histories,
    hostile,
    interrupted,
    lossy,
    together,
)
from faults.points import Method

METHODS: tuple[Method, ...] = (
    every_field.METHOD,
    interrupted.METHOD,
    lossy.METHOD,
    together.METHOD,
    aged.METHOD,
    hostile.METHOD,
    histories.METHOD,
)
