"""The check of these tests: is kept what shall be kept? Unless the mood says otherwise."""

import base64
import json
import os
import time
import urllib.error
import urllib.request
from pathlib import Path

import yaml


def calm(resource):
    metadata = resource["metadata"]
    mood = _data(f"mood-{metadata['name']}", metadata["namespace"]).get("mood")
    if mood == "raise":
        raise ValueError("a bad mood")
    if mood == "hang":
        time.sleep(60)
    if mood == "die":
        os._exit(7)
    if mood == "content":
        return True
    kept = _data(metadata["name"], metadata["namespace"])
    return kept.get("word") == resource["spec"]["word"]


def alive(resource):
    """The probe of these tests: is all well, as far as the mood says?"""
    metadata = resource["metadata"]
    mood = _data(f"mood-{metadata['name']}", metadata["namespace"]).get("mood")
    if mood == "raise":
        raise ValueError("a bad mood")
    return mood != "restless"


def _data(name, namespace):
    """The data of a ConfigMap, as the kubeconfig of this run shows it."""
    kubeconfig = yaml.safe_load(Path(os.environ["K8S_AUTH_KUBECONFIG"]).read_text())
    server = kubeconfig["clusters"][0]["cluster"]["server"]
    user = kubeconfig["users"][0]["user"]
    pair = base64.b64encode(f"{user['username']}:{user['password']}".encode()).decode()
    request = urllib.request.Request(  # noqa: S310 (it is the proxy)
        f"{server}/api/v1/namespaces/{namespace}/configmaps/{name}",
        headers={"Authorization": f"Basic {pair}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return json.load(answer).get("data") or {}
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return {}


class TestModule:
    def tests(self):
        return {"calm": calm, "alive": alive}
