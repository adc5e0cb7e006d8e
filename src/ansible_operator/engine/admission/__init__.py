# SPDX-License-Identifier: Apache-2.0
"""Functions that default and validate objects at admission: filter plugins, in warm processes.

``interface`` and ``functions`` run in the runner; ``process`` and ``contract`` run in the
processes, which have Ansible's plugin loader but never play anything. Both engines use them.
"""

from ansible_operator.engine.admission.functions import FunctionPool
from ansible_operator.engine.admission.interface import (
    AdmissionError,
    Answer,
    Call,
    Function,
    Phase,
)

__all__ = ["AdmissionError", "Answer", "Call", "Function", "FunctionPool", "Phase"]
