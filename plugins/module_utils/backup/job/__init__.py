# SPDX-License-Identifier: Apache-2.0
"""BackupJob: what is backed up, its mistakes, and the Backup that it is recorded as."""
