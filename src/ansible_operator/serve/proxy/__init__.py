# SPDX-License-Identifier: Apache-2.0
"""The plays' way to the API server: authenticated, cached where that is safe, owner-injecting.

:class:`LoopbackProxy` is the entry; the manager makes one per process. It may import ``kube``;
it never imports the loop, which it tells of dependents and writes through injected callbacks.
"""

from ansible_operator.serve.proxy.server import DEFAULT_PORT, LoopbackProxy

__all__ = ["DEFAULT_PORT", "LoopbackProxy"]
