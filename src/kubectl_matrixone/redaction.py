# SPDX-License-Identifier: Apache-2.0
"""Takes what may be secret out of objects and logs, before they leave the user's machine.

Secrets themselves are never read. What is left are values that people put elsewhere: environment
variables, annotations, statements in logs.
"""

import re
from typing import Any, Final

REMOVED: Final = "(removed)"
_NAME: Final = (
    r"(?:password|passwd|pwd|secret|token|credential"
    r"|access[-_.]?key(?:[-_.]?id)?|private[-_.]?key|api[-_.]?key)"
)
_QUOTED: Final = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"
_SECRET_NAME: Final = re.compile(_NAME, re.IGNORECASE)
_KEPT_ANNOTATIONS: Final = re.compile(r"matrixorigin\.io/|matrixone\.cloud/|kubernetes\.io/")
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_IN_TEXT: Final = tuple(
    re.compile(before + value, re.IGNORECASE | re.DOTALL)
    for before, value in (
        # name=value, name: value, "name": "value", name "value"
        (
            rf"(?P<before>{_NAME}[\w.-]*[\"']?\s*(?:[=:]|\s(?=[\"']))\s*)",
            rf"(?:{_QUOTED}|[^\s,;}}\])]+)",
        ),
        # CREATE USER … IDENTIFIED BY 'value'
        (r"(?P<before>identified\s+(?:with\s+\S+\s+)?by\s+)", rf"(?:{_QUOTED}|\S+)"),
        # user:value@ of an address
        (r"(?P<before>://[^/\s:@]+:)", r"[^@\s/]+(?=@)"),
        (r"(?P<before>\b(?:AKIA|ASIA))", r"[0-9A-Z]{16}\b"),
        (r"(?P<before>\bBearer\s+)", r"[\w.~+/-]+=*"),
        (r"(?P<before>-----BEGIN [A-Z ]*PRIVATE KEY-----)", r".*?(?=-----END)"),
    )
)


def text(given: str) -> str:
    """Return a text without what looks like a secret in it."""
    for pattern in _IN_TEXT:
        given = pattern.sub(lambda found: found["before"] + REMOVED, given)
    return given


def resource(given: Any) -> Any:
    """Return an object without values that may be secret.

    Environment variables keep their names only, except those that refer to something; annotations
    of others, and fields with the name of a secret, lose their value.
    """
    if isinstance(given, list):
        return [resource(one) for one in given]
    if isinstance(given, str):
        return text(given)
    if not isinstance(given, dict):
        return given
    return {name: _field(name, value) for name, value in given.items() if name != "managedFields"}


def _field(name: str, value: Any) -> Any:
    if name == "env" and isinstance(value, list):
        return [_variable(one) for one in value]
    if name == "annotations" and isinstance(value, dict):
        return {key: _annotation(key, each) for key, each in value.items()}
    if isinstance(value, str) and _SECRET_NAME.search(name) and not name.endswith("Name"):
        return REMOVED
    return resource(value)


def _variable(one: Any) -> Any:
    is_given = isinstance(one, dict) and "value" in one
    return {**one, "value": REMOVED} if is_given else resource(one)


def _annotation(name: str, value: Any) -> Any:
    if name == _LAST_APPLIED or not _KEPT_ANNOTATIONS.search(name):
        return REMOVED
    return resource(value)
