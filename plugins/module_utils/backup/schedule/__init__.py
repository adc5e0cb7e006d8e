# SPDX-License-Identifier: Apache-2.0
"""BackupSchedule: when it is due, what it starts, which backups it keeps."""
