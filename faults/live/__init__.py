# SPDX-License-Identifier: Apache-2.0
"""Faults in the life of resources under the real operator, on a real API server with fake nodes.

What `faults.simulation` leaves out is real here: the runner's process, its watches and its
restart, Ansible, the rules of the API server. Between the two stands a proxy that counts and
disturbs.
"""
