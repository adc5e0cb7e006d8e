# SPDX-License-Identifier: Apache-2.0
"""The one error hierarchy of the test bed. A message is one line that says what to do."""


class TestBedError(Exception):
    """Base of all errors that the test bed raises on purpose."""

    __test__ = False


class RequirementError(TestBedError):
    """The machine lacks something; the message names it and the remedy."""


class BuildError(TestBedError):
    """A binary or an image could not be built; the message ends with the tool's last lines."""


class StartError(TestBedError):
    """A process ended or did not get ready in time; the message names its log file."""


class NotFoundError(TestBedError):
    """No test bed of that name exists."""
