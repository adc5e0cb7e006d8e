# SPDX-License-Identifier: Apache-2.0
"""Environment variables in watches: expansion in the text, overrides per kind.

The rules of expansion are those that users of the Go runner rely on, odd corners
included: what is not set is written back, what is not a name is removed.
"""

from collections.abc import Mapping

from ansible_operator.errors import ConfigError
from ansible_operator.logs import get_logger

_LOG = get_logger("watches")
_SPECIAL = frozenset("*#$@!?-0123456789")
_VERBOSITIES = range(8)


def expand(text: str, environ: Mapping[str, str], *, strict: bool = False) -> str:
    """Replace ``$NAME`` and ``${NAME}``; names that are not set are written as ``${NAME}``.

    Strictly, ``$$`` is a dollar sign and every name must be set.

    Raises:
        ConfigError: strictly only: names the variables that are not set.
    """
    parts: list[str] = []
    unset: dict[str, None] = {}
    position = 0
    while (dollar := text.find("$", position)) >= 0 and dollar + 1 < len(text):
        parts.append(text[position:dollar])
        name, width = _name_at(text, dollar + 1)
        if strict and name == "$":
            parts.append("$")
        elif name:
            if name not in environ:
                unset[name] = None
            parts.append(environ.get(name, f"${{{name}}}"))
        elif width == 0:
            parts.append("$")
        position = dollar + 1 + width
    parts.append(text[position:])
    if strict and unset:
        names = ", ".join(unset)
        raise ConfigError(f"environment variables of the watches file are not set: {names}")
    return "".join(parts)


def _is_word(char: str) -> bool:
    return char == "_" or (char.isascii() and char.isalnum())


def _name_at(text: str, start: int) -> tuple[str, int]:
    """The variable name that starts there and the number of characters it takes.

    An empty name with a width is broken syntax that disappears; without, a plain dollar sign.
    """
    first = text[start]
    if first == "{":
        return _braced_name(text, start)
    if first in _SPECIAL:
        return first, 1
    end = start
    while end < len(text) and _is_word(text[end]):
        end += 1
    return text[start:end], end - start


def _braced_name(text: str, start: int) -> tuple[str, int]:
    following = text[start + 1 : start + 3]
    if len(following) == 2 and following[0] in _SPECIAL and following[1] == "}":
        return following[0], 3
    end = text.find("}", start + 1)
    if end < 0:
        return "", 1
    if end == start + 1:
        return "", 2
    return text[start + 1 : end], end + 1 - start


def _suffix(group: str, kind: str) -> str:
    return f"{kind}_{group}".upper().replace(".", "_")


def max_concurrent_reconciles(
    group: str, kind: str, default: int, environ: Mapping[str, str]
) -> int:
    """Runs of one kind at the same time, after ``MAX_CONCURRENT_RECONCILES_*``."""
    suffix = _suffix(group, kind)
    name, old = f"MAX_CONCURRENT_RECONCILES_{suffix}", f"WORKER_{suffix}"
    if name not in environ and old in environ:
        _LOG.info(f"Environment variable {old} is deprecated, use {name} instead")
        name = old
    return _positive(name, default, environ)


def _positive(name: str, default: int, environ: Mapping[str, str]) -> int:
    if name not in environ:
        return default
    try:
        value = int(environ[name])
    except ValueError:
        _LOG.info("Failed to parse environment variable as integer, using default", env=name)
        return default
    return value if value > 0 else default


def ansible_verbosity(group: str, kind: str, default: int, environ: Mapping[str, str]) -> int:
    """Verbosity of a kind's runs, after ``ANSIBLE_VERBOSITY_*``."""
    name = f"ANSIBLE_VERBOSITY_{_suffix(group, kind)}"
    if name not in environ:
        return default
    try:
        value = int(environ[name])
    except ValueError:
        value = -1
    if value in _VERBOSITIES:
        return value
    _LOG.info("Ansible verbosity must be 0 to 7, using default", env=name, default=default)
    return default
