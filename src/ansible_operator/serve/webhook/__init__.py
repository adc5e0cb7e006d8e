# SPDX-License-Identifier: Apache-2.0
"""Admission: the HTTPS server that the API server calls before it stores an object.

Reviews are answered by functions that a watch names; they live in processes of their own
(``engine.admission``), this package carries questions and answers and keeps certificates and
registrations right. Every replica serves, whether it leads or not.
"""

from ansible_operator.serve.webhook.registrar import (
    CONFIGURATION_MODES,
    ConfigurationMode,
    Registrar,
)
from ansible_operator.serve.webhook.registration import Hook, Terms
from ansible_operator.serve.webhook.review import Judge, Mistake, Question, Verdict
from ansible_operator.serve.webhook.review_handler import FunctionJudge, Functions, functions_of
from ansible_operator.serve.webhook.service import WebhookSettings, webhooks
from ansible_operator.serve.webhook.shared_secret import SharedSecret
from ansible_operator.serve.webhook.sources import FolderSource, SecretSource, Source

__all__ = [
    "CONFIGURATION_MODES",
    "ConfigurationMode",
    "FolderSource",
    "FunctionJudge",
    "Functions",
    "Hook",
    "Judge",
    "Mistake",
    "Question",
    "Registrar",
    "SecretSource",
    "SharedSecret",
    "Source",
    "Terms",
    "Verdict",
    "WebhookSettings",
    "functions_of",
    "webhooks",
]
