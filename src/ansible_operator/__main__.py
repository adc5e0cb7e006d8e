# SPDX-License-Identifier: Apache-2.0
"""Entry point of ``ansible-operator`` and of ``python -m ansible_operator``."""

import signal


def main() -> None:
    """Run the command line.

    Loading it takes a moment, in which nothing has been begun: Ctrl-C then ends the process without
    a word. Afterwards the manager listens to signals.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ansible_operator.cli import main as command_line  # noqa: PLC0415

    command_line()


if __name__ == "__main__":
    main()
