# SPDX-License-Identifier: Apache-2.0
"""The API server, by way of kubectl: its configuration, credentials and plugins are the user's."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .errors import KubectlError, PluginError

Json = dict[str, Any]

_PREFIX = re.compile(r"^(error: |Error from server )(\(\w+\): )?")
_LOG_LINE = re.compile(r"^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+:\d+\] ")
"""Of the Kubernetes client, which logs each of its attempts before kubectl says what failed."""
_SECONDS = 60.0
"""For one request; kubectl itself gives up on a server that does not answer after 32 seconds."""


def table_in(one: Json, name: str) -> Json:
    """Return a field with fields of its own; an empty one where there is none."""
    found = one.get(name)
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class Listing:
    """What was found of several kinds.

    Attributes:
        items: objects.
        problems: why some kinds could not be read, such as missing rights, in kubectl's words.
    """

    items: list[Json]
    problems: list[str]


@dataclass(frozen=True, slots=True)
class Kubectl:
    """Runs kubectl with the options that the user gave to the plugin.

    Attributes:
        options: such as ``--context`` and ``--kubeconfig``, for every call.
        namespace: that was asked for; empty for the one of the context.
        program: path of kubectl.
    """

    options: tuple[str, ...] = ()
    namespace: str = ""
    program: str = "kubectl"

    def command(self, *arguments: str) -> list[str]:
        """Return a command line, for a caller that runs it itself.

        Raises:
            PluginError: there is no kubectl.
        """
        if shutil.which(self.program) is None:
            raise PluginError("kubectl is not on PATH; this plugin needs it")
        namespace = ("--namespace", self.namespace) if self.namespace else ()
        return [self.program, *self.options, *namespace, *arguments]

    def run(self, *arguments: str, given: str = "") -> str:
        """Return what kubectl prints.

        Args:
            arguments: of kubectl; none may be a secret, others on the machine can read them.
            given: its standard input.

        Raises:
            KubectlError: it failed.
        """
        done = self._run(arguments, given)
        if done.returncode:
            raise KubectlError(reason(done.stderr))
        return done.stdout

    def get(self, *arguments: str) -> Json:
        """Return one object.

        Raises:
            KubectlError: it cannot be read, or does not exist.
        """
        return parsed(self.run("get", *arguments, "--output=json"))

    def used_namespace(self) -> str:
        """Return the namespace that kubectl uses: the one asked for, or that of the context."""
        if self.namespace:
            return self.namespace
        path = "--output=jsonpath={.contexts[0].context.namespace}"
        return self.run("config", "view", "--minify", path).strip() or "default"

    def list(self, kinds: Sequence[str], *arguments: str) -> Listing:
        """Return the objects of several kinds, as many as the user may read.

        Raises:
            KubectlError: none can be read. kubectl prints an empty list then, which means nothing.
        """
        done = self._run(("get", ",".join(kinds), *arguments, "--output=json"), "")
        if done.returncode and (len(kinds) == 1 or not done.stdout.strip()):
            raise KubectlError(reason(done.stderr))
        problems = [_PREFIX.sub("", line) for line in _said(done.stderr)]
        return Listing(list(parsed(done.stdout).get("items") or []), problems)

    def _run(self, arguments: Sequence[str], given: str) -> "subprocess.CompletedProcess[str]":
        command = self.command(*arguments)
        try:
            return subprocess.run(
                command, input=given, capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired as error:
            message = f"kubectl {arguments[0]}: no answer within {_SECONDS:g} seconds"
            raise KubectlError(message) from error


def parsed(text: str) -> Json:
    """Return the object that kubectl printed.

    Raises:
        KubectlError: it is none.
    """
    try:
        found: Json = json.loads(text)
    except ValueError as error:
        raise KubectlError(f"kubectl printed something else than JSON: {text[:80]!r}") from error
    return found


def reason(text: str) -> str:
    """Return the message in what kubectl wrote to its standard error, on one line."""
    shown = _PREFIX.sub("", " ".join((" ".join(_said(text)) or text).split()))
    return shown or "kubectl failed and said nothing"


def _said(text: str) -> list[str]:
    """The lines of kubectl's own, without those that its client logs."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not _LOG_LINE.match(line)]
