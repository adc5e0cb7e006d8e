# SPDX-License-Identifier: Apache-2.0
"""The Secret through which replicas share the webhook's certificates.

Any replica may create or renew them; the API server's version check lets one of several win, the
others read what it has written.
"""

import base64
import binascii
import datetime
from collections.abc import Callable, Collection
from dataclasses import dataclass

from ansible_operator.errors import ConfigError, KubeError
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.interface import Object
from ansible_operator.kube.names import api_path
from ansible_operator.logs import get_logger
from ansible_operator.serve.certificates import KeyPair
from ansible_operator.serve.webhook.authority import Credentials, make_credentials, renewed

_log = get_logger("webhook")
ATTEMPTS = 5
_KEYS = ("ca.crt", "ca.key", "tls.crt", "tls.key")


def _utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


@dataclass(frozen=True, slots=True)
class SharedSecret:
    """Reads, creates and renews the certificates.

    Attributes:
        namespace: where the Secret is.
        name: of the Secret.
        names: DNS names and addresses that the certificate must cover.
        clock: the present, aware.
    """

    client: HttpClient
    namespace: str
    name: str
    names: Collection[str]
    clock: Callable[[], datetime.datetime] = _utc_now

    async def refresh(self) -> Credentials:
        """The certificates of all replicas, renewed if that is due.

        Raises:
            KubeError: the Secret cannot be read or written.
            ConfigError: the Secret has another owner, or replicas keep overwriting each other.
        """
        for _ in range(ATTEMPTS):
            try:
                return await self._attempt()
            except KubeError as error:
                if not error.is_conflict:
                    raise
        raise ConfigError(f"Secret {self.namespace}/{self.name} changes too often")

    async def _attempt(self) -> Credentials:
        root = ("api", "v1", "namespaces", self.namespace, "secrets")
        path = api_path(*root, self.name)
        try:
            secret = await self.client.request_object("GET", path)
        except KubeError as error:
            if not error.is_not_found:
                raise
            created = make_credentials(self.names, self.clock())
            metadata = {"name": self.name, "namespace": self.namespace}
            body = _with(created, {"metadata": metadata})
            await self.client.request("POST", api_path(*root), body=body)
            return created
        self._refuse_others(secret)
        found = _read(secret)
        desired = self._desired(found)
        if desired is not found:
            await self.client.request("PUT", path, body=_with(desired, secret))
        return desired

    def _desired(self, found: Credentials | None) -> Credentials:
        """The desired content of the Secret: the current one, unless that is damaged or due."""
        if found is not None:
            try:
                return renewed(found, self.names, self.clock())
            except ConfigError as error:
                _log.error("The webhook's certificates are recreated", error=str(error))
        return make_credentials(self.names, self.clock())

    def _refuse_others(self, secret: Object) -> None:
        """Refuse certificates of another owner, such as cert-manager."""
        data = secret.get("data") or {}
        if "tls.key" in data and "ca.key" not in data:
            raise ConfigError(
                f"Secret {self.namespace}/{self.name} has certificates that the operator did not "
                "create; mount it and name the folder with --webhook-cert-dir, or choose another "
                "--webhook-name"
            )


def _read(secret: Object) -> Credentials | None:
    """What the Secret holds; None if that is not complete."""
    data = secret.get("data") or {}
    try:
        bundle, key, certificate, own = (base64.b64decode(data[name]) for name in _KEYS)
    except (KeyError, TypeError, binascii.Error):
        return None
    return Credentials(bundle, key, KeyPair(certificate, own))


def _with(credentials: Credentials, secret: Object) -> Object:
    serving = credentials.serving
    values = (credentials.bundle, credentials.authority_key, serving.certificate, serving.key)
    data = {
        name: base64.b64encode(value).decode() for name, value in zip(_KEYS, values, strict=True)
    }
    return {**secret, "data": {**(secret.get("data") or {}), **data}}
