# SPDX-License-Identifier: Apache-2.0
"""The commands: a module for each, with its options, what it does and what it says."""
