# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes client: configuration, requests, discovery, informers, leases, events.

It may import ``errors``, ``logs``, ``metrics`` and ``watches``; nothing here knows Ansible.
"""
