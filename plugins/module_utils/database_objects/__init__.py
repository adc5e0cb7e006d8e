# SPDX-License-Identifier: Apache-2.0
"""What resources have in common that stand for something in a database: a user, a database."""
