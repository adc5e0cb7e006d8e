# SPDX-License-Identifier: Apache-2.0
"""What is to be done: what to observe, hold back, record, apply, remove. Pure functions."""
