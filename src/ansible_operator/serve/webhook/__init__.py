# SPDX-License-Identifier: Apache-2.0
"""Admission: the HTTPS server that the API server asks before it stores an object.

What is asked is answered by functions that a watch names; they are injected, this room only
carries questions and answers and keeps certificates and registrations right. Webhooks are a
convenience: everything works without them, so an unreachable one is ignored by the API server.
"""

from ansible_operator.serve.webhook.review import Judge, Verdict
from ansible_operator.serve.webhook.service import WebhookSettings, webhooks

__all__ = ["Judge", "Verdict", "WebhookSettings", "webhooks"]
