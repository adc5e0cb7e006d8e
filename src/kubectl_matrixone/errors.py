# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, with what to do about it."""

import sys


class PluginError(Exception):
    """The command cannot be carried out; the message is for the user."""


class UsageError(PluginError):
    """The command line makes no sense."""


class KubectlError(PluginError):
    """kubectl refused; the message is its own."""


class Unanswered(PluginError):
    """The database does not answer now; it may do so later."""


class NoSuchCluster(PluginError):
    """There is no MatrixOneCluster of that name, or more than one could be meant."""


def say_error(error: Exception) -> None:
    """Write what went wrong where errors go."""
    print(f"error: {error}", file=sys.stderr)
