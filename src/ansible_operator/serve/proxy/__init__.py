# SPDX-License-Identifier: Apache-2.0
"""The proxy between plays and the API server: authenticates, caches where safe, adds owners.

:class:`LoopbackProxy` is the entry; the manager makes one per process. It may import ``kube``;
it never imports the loop; it reports dependents and writes through injected callbacks.
"""

from ansible_operator.serve.proxy.server import DEFAULT_PORT, LoopbackProxy

__all__ = ["DEFAULT_PORT", "LoopbackProxy"]
