# SPDX-License-Identifier: Apache-2.0
"""MatrixOne's snapshots and its point-in-time recovery: statements and records, without a server.

Both keep older versions of rows on the storage of the database; they are no copy elsewhere.
"""
