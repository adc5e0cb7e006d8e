# SPDX-License-Identifier: Apache-2.0
"""Turns a review into a call of functions and their answer into a verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_operator import metrics
from ansible_operator.engine.admission import (
    AdmissionError,
    Answer,
    Call,
    Function,
    FunctionPool,
    Phase,
)
from ansible_operator.kube.interface import GroupVersionKind
from ansible_operator.serve.webhook.review import Mistake, Question, Verdict
from ansible_operator.watches import Watch

_DEFAULT_REASON = Mistake("").reason


@dataclass(frozen=True, slots=True)
class Functions:
    """The functions of one kind."""

    default: tuple[Function, ...] = ()
    validate: tuple[Function, ...] = ()


def functions_of(watch: Watch) -> Functions:
    """The functions that a watch names, and where they are searched for."""
    play = watch.play
    if play.playbook:
        folder, collection = Path(play.playbook).parent, ""
    else:
        folder, collection = Path(play.role), play.role_name.rpartition(".")[0]

    def named(names: Sequence[str]) -> tuple[Function, ...]:
        return tuple(Function(name, collection, folder) for name in names)

    return Functions(named(watch.admission.default), named(watch.admission.validate))


@dataclass(frozen=True, slots=True)
class FunctionJudge:
    """Calls the functions of the kind that a review is about."""

    pool: FunctionPool
    functions: Mapping[GroupVersionKind, Functions]

    async def __call__(self, question: Question, is_default: bool, seconds: float) -> Verdict:
        """See :data:`ansible_operator.serve.webhook.review.Judge`."""
        functions = self.functions[question.gvk]
        names = functions.default if is_default else functions.validate
        if not names:
            return Verdict()
        phase = Phase.DEFAULT if is_default else Phase.VALIDATE
        call = Call(phase, names, question.object, _request(question))
        try:
            answer = await self.pool.call(call, seconds)
        except AdmissionError as error:
            metrics.ADMISSION_FAILURES.labels(str(question.gvk), error.reason).inc()
            raise
        return _verdict(answer)


def _verdict(answer: Answer) -> Verdict:
    mistakes = tuple(
        Mistake(item["message"], item.get("field", ""), item.get("reason", _DEFAULT_REASON))
        for item in answer.errors
    )
    return Verdict(answer.object, mistakes, answer.warnings)


def _request(question: Question) -> dict[str, Any]:
    """The second argument of functions; the phase is added where they are called."""
    return {
        "operation": question.operation,
        "old": question.old,
        "name": question.name,
        "namespace": question.namespace,
        "subresource": question.subresource,
        "dryRun": question.is_dry_run,
        "user": question.user,
    }
