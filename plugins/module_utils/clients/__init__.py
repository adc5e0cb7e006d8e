# SPDX-License-Identifier: Apache-2.0
"""Everything of the collection that talks to a network; one package per kind of server."""
