# SPDX-License-Identifier: Apache-2.0
"""How far operators that others wrote play on this runner, and what differs from the Go runner."""
