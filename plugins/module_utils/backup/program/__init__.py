# SPDX-License-Identifier: Apache-2.0
"""The program that makes, proves, restores and deletes backups, in a Pod of its own."""
