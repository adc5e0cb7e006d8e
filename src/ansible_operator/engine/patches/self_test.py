# SPDX-License-Identifier: Apache-2.0
"""What the warm-up play says, compared with what it says without the patches.

The play is a test of them on this machine, with the very packages and settings that runs have.
"""

from typing import Any

from ansible.plugins.callback import CallbackBase

EXPECTED = (
    "ok Gathering Facts ansible_facts=many",
    "ok warm : Validating arguments against arg spec 'main' msg=The arg spec validation passed",
    "ok warm : Compute changed=True ansible_facts={'joined': 'A,B'}",
    "item warm : Show item=a",
    "item warm : Show item=b",
    "ok warm : Show msg=All items completed",
    "ok warm : Check msg=All assertions passed",
    "ok warm : Include",
    "include more.yml",
    "ok warm : Module rc=0 msg=",
    "failed warm : Fail msg=expected",
    "ok warm : Rescued msg=rescued",
    "ok warm : Handle msg=handled",
    "sums changed=1 failures=0 ignored=0 ok=9 rescued=1 skipped=0 unreachable=0",
)
"""What stock Ansible says, the same in each release that is supported."""
_SHOWN = ("changed", "rc", "msg", "item", "ansible_facts")
"""Those of a result that are compared; ``changed`` only where it is true."""


class Notes(CallbackBase):
    """Notes the results of a play."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = _load_name = "ansible_operator_notes"

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def check(self) -> None:
        """Compare.

        Raises:
            RuntimeError: with the first difference.
        """
        for number, expected in enumerate((*EXPECTED, "the end")):
            line = self.lines[number] if number < len(self.lines) else "the end"
            if line != expected:
                raise RuntimeError(
                    f"the warm-up play said {line!r}, where {expected!r} was expected"
                )

    def v2_runner_on_ok(self, result: Any) -> None:
        """Note a result."""
        self._note("ok", result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:  # noqa: ARG002
        """Note a failure."""
        self._note("failed", result)

    def v2_runner_on_skipped(self, result: Any) -> None:
        """Note what was skipped."""
        self._note("skipped", result)

    def v2_runner_item_on_ok(self, result: Any) -> None:
        """Note the result of one item."""
        self._note("item", result)

    def v2_playbook_on_include(self, included_file: Any) -> None:
        """Note an included file."""
        self.lines.append(f"include {str(included_file._filename).rpartition('/')[2]}")

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Note the sums."""
        sums = sorted(stats.summarize("localhost").items())
        self.lines.append(" ".join(["sums", *(f"{name}={number}" for name, number in sums)]))

    def _note(self, kind: str, result: Any) -> None:
        told = result._result
        names = [key for key in _SHOWN if key in told and told[key] is not False]
        shown = [f"{key}={_text(key, told[key])}" for key in names]
        self.lines.append(" ".join([kind, result._task.get_name(), *shown]))


def _text(key: str, value: Any) -> str:
    if key == "ansible_facts" and len(value) > 1:
        return "many" if "ansible_python_version" in value else "few"
    return str(value)
