# SPDX-License-Identifier: Apache-2.0
"""What somebody who manages an operator looks at in the databases."""

import time
from typing import Any

import pymysql

from tests.e2e.clusters import Cluster
from tests.e2e.traffic import Traffic


def identities(cluster: Cluster) -> dict[str, Any]:
    """Uids of the database's Pods, and how often their containers were started anew."""
    return {
        one["metadata"]["name"]: (
            one["metadata"]["uid"],
            [status["restartCount"] for status in one["status"]["containerStatuses"]],
        )
        for one in cluster.get("pods")["items"]
        if "deletionTimestamp" not in one["metadata"]
    }


def answers(cluster: Cluster, statement: str, seconds: float = 20.0) -> Any:
    """Ask the database; a proxy hears of new compute nodes a moment after they are ready."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            with cluster.connect() as session, session.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall()
        except pymysql.MySQLError as error:
            if "no available CN server" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def fill(cluster: Cluster) -> None:
    """Store three rows that are to be found again."""
    for statement in (
        "create database if not exists kept",
        "create table if not exists kept.rows_seen (n int primary key)",
        "insert into kept.rows_seen values (1), (2), (3)",
    ):
        answers(cluster, statement)


def seen(traffic: Traffic) -> str:
    """What SQL clients saw, in words."""
    return (
        f"SQL clients meanwhile: {len(traffic.acknowledged)} rows acknowledged, "
        f"{len(traffic.errors)} errors, longest gap {traffic.longest:.2f} s, "
        f"{len(traffic.lost())} rows lost"
    )
