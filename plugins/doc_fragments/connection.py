# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation that the actions of this collection share."""

from __future__ import annotations


class ModuleDocFragment:
    """The connection to the API server, and what all actions support."""

    DOCUMENTATION = r"""
options:
  kubeconfig:
    description:
      - Path of a kubeconfig, or its content as a dictionary.
      - Without it, and without O(host), the account of the Pod this runs in is used, else
        E(KUBECONFIG) or the user's own kubeconfig. E(K8S_AUTH_KUBECONFIG) has the same meaning.
    type: raw
  context:
    description: Context of the kubeconfig to use. E(K8S_AUTH_CONTEXT) has the same meaning.
    type: str
  host:
    description: URL of the API server. E(K8S_AUTH_HOST) has the same meaning.
    type: str
  api_key:
    description: Token to authenticate with. E(K8S_AUTH_API_KEY) has the same meaning.
    type: str
  username:
    description: User name for basic authentication. E(K8S_AUTH_USERNAME) has the same meaning.
    type: str
  password:
    description: Password for basic authentication. E(K8S_AUTH_PASSWORD) has the same meaning.
    type: str
  validate_certs:
    description: >-
      Whether to verify the API server's certificate. E(K8S_AUTH_VERIFY_SSL) has the same meaning.
    type: bool
    aliases: [verify_ssl]
  ca_cert:
    description: >-
      Path of the CA certificate of the API server. E(K8S_AUTH_SSL_CA_CERT) has the same meaning.
    type: path
    aliases: [ssl_ca_cert]
  client_cert:
    description: Path of a client certificate. E(K8S_AUTH_CERT_FILE) has the same meaning.
    type: path
    aliases: [cert_file]
  client_key:
    description: Path of the client certificate's key. E(K8S_AUTH_KEY_FILE) has the same meaning.
    type: path
    aliases: [key_file]
  proxy:
    description: >-
      URL of an HTTP proxy on the way to the API server. E(K8S_AUTH_PROXY) has the same meaning.
    type: str
  no_proxy:
    description: >-
      Hosts that are reached without the proxy, separated by commas. E(K8S_AUTH_NO_PROXY) has the
      same meaning.
    type: str
  proxy_headers:
    description: Headers for the HTTP proxy.
    type: dict
    suboptions:
      proxy_basic_auth:
        description: User and password for the proxy, separated by a colon.
        type: str
      basic_auth:
        description: User and password for basic authentication, separated by a colon.
        type: str
      user_agent:
        description: What to call itself.
        type: str
  persist_config:
    description: Whether renewed credentials are written back to the kubeconfig.
    type: bool
  impersonate_user:
    description: User to act as. E(K8S_AUTH_IMPERSONATE_USER) has the same meaning.
    type: str
  impersonate_groups:
    description: Groups to act as. E(K8S_AUTH_IMPERSONATE_GROUPS) has the same meaning.
    type: list
    elements: str
requirements:
  - python >= 3.11
  - kubernetes >= 31 (Python package, on the controller)
notes:
  - It runs on the controller, in Ansible's own process; no host needs Python or the kubernetes
    package for it.
"""
