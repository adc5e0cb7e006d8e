# SPDX-License-Identifier: Apache-2.0
"""``users`` and ``databases``: what a cluster has of both as resources."""

import argparse

from kubectl_matrixone import databases, users
from kubectl_matrixone.commands.listing import add_output, print_list
from kubectl_matrixone.commands.options import Commands, add_about_cluster
from kubectl_matrixone.kubectl import Kubectl


def add(commands: Commands) -> None:
    """Add the commands."""
    text = "list the users of a cluster that are managed as resources, and what they may do"
    add_output(add_about_cluster(commands, "users", text, _users))
    text = "list the databases of a cluster that are managed as resources"
    add_output(add_about_cluster(commands, "databases", text, _databases))


def _users(options: argparse.Namespace, kubectl: Kubectl) -> int:
    found = list(users.records(kubectl.list([users.USERS]).items, options.cluster))
    print_list(found, options.output, "databaseuser", users.lines)
    return 0


def _databases(options: argparse.Namespace, kubectl: Kubectl) -> int:
    found = list(databases.records(kubectl.list([databases.DATABASES]).items, options.cluster))
    print_list(found, options.output, "database", databases.lines)
    return 0
