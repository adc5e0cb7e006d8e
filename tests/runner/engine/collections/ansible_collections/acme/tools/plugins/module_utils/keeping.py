# SPDX-License-Identifier: Apache-2.0
"""What code of an operator can keep in its process, and where it finds that again."""

import builtins
import locale
import logging
import os
import resource
import signal
import socket
import sys
import threading
import time
import types
import xml.dom
from pathlib import Path

import yaml
from kubernetes.client import Configuration

LISTED = []


def _handled(number, frame):
    """A signal handler that is nobody's default."""


def _umask():
    mask = os.umask(0o22)
    os.umask(mask)
    return mask


def _open_files():
    names = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            names.append(os.readlink(link))
        except OSError:
            continue
    return names.count("/dev/full")


def state():
    """Say what is kept, by place."""
    return {
        "global": list(LISTED),
        "library": getattr(yaml, "acme_kept", None),
        "credentials of a library": Configuration.get_default_copy().api_key,
        "standard library": getattr(xml.dom, "acme_kept", None),
        "timeout of sockets": socket.getdefaulttimeout(),
        "built-ins": getattr(builtins, "acme_kept", None),
        "log level": logging.getLogger("acme").level,
        "environment": os.environ.get("ACME_KEPT"),
        "time zone": list(time.tzname),
        "locale": locale.setlocale(locale.LC_CTYPE),
        "folder": os.getcwd(),
        "umask": _umask(),
        "import path": [path for path in sys.path if "acme-kept" in path],
        "modules": "acme_kept" in sys.modules,
        "signal handler": str(getattr(signal.getsignal(signal.SIGUSR2), "__name__", "default")),
        "blocked signals": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "limit": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "threads": [one.name for one in threading.enumerate() if "acme" in one.name],
        "open files": _open_files(),
    }


def keep(what):
    """Keep a text in all these places."""
    LISTED.append(what)
    yaml.acme_kept = xml.dom.acme_kept = builtins.acme_kept = what
    configuration = Configuration()
    configuration.api_key = {"authorization": what}
    Configuration.set_default(configuration)
    socket.setdefaulttimeout(7531)
    logging.getLogger("acme").setLevel(17)
    os.environ.update(ACME_KEPT=what, TZ="ACME-7")
    time.tzset()
    locale.setlocale(locale.LC_CTYPE, "C")
    os.chdir("/")
    os.umask(0o77)
    sys.path.append(f"/acme-kept/{what}")
    sys.modules["acme_kept"] = types.ModuleType("acme_kept")
    signal.signal(signal.SIGUSR2, _handled)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (999, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    threading.Thread(target=time.sleep, args=(600,), name=f"acme {what}", daemon=True).start()
    os.open("/dev/full", os.O_WRONLY)


def look_and_keep(what):
    """Say what is found and, if there is something to keep, what is there afterwards."""
    found = state()
    if what:
        keep(what)
    return {"found": found, "kept": state() if what else {}}
