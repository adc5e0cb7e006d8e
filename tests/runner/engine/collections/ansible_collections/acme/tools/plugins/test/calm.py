"""A check of an object, which does what the object's mood says."""

import os
import signal
import time
from pathlib import Path


def calm(resource):
    spec = resource["spec"]
    mood = spec.get("mood")
    if mood == "raise":
        raise ValueError("a bad mood")
    if mood == "exit":
        raise SystemExit(3)
    if mood == "text":
        return "yes"
    if mood == "sleep":
        time.sleep(60)
    if mood == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(1)
    if mood == "die":
        os._exit(7)
    if mood == "print":
        print("noise " * 1000, flush=True)
    if mood == "pid":
        Path(spec["file"]).write_text(str(os.getpid()))
    if mood == "kubeconfig":
        names = ("K8S_AUTH_KUBECONFIG", "KUBECONFIG")
        return all(os.environ[name] == spec["file"] for name in names)
    if mood == "data":
        return spec["text"] == "{{ 1 " + "+ 1 }}" and type(spec["text"]) is str
    return mood != "upset"


class TestModule:
    def tests(self):
        return {"calm": calm}
