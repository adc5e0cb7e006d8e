# SPDX-License-Identifier: Apache-2.0
"""Where data are: a prefix of a bucket on a server, or a folder; read by one grammar everywhere.

Databases, backups, BucketClaims and restores read and compare locations here. A location is text
of a user: nothing in here raises anything but `InvalidLocation`, or `InvalidSpec` for a field.
"""
