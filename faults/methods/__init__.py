# SPDX-License-Identifier: Apache-2.0
"""Ways to make faults, one module each."""

from faults.methods import (
    aged,
    answers,
    clocks,
    every_field,
    histories,
    hostile,
    interrupted,
    lossy,
    promises,
    runner,
    stores,
    together,
)
from faults.points import Method

METHODS: tuple[Method, ...] = (
    every_field.METHOD,
    interrupted.METHOD,
    lossy.METHOD,
    together.METHOD,
    clocks.METHOD,
    aged.METHOD,
    hostile.METHOD,
    answers.METHOD,
    stores.METHOD,
    runner.METHOD,
    promises.METHOD,
    histories.METHOD,
)
