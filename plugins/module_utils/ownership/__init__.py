# SPDX-License-Identifier: Apache-2.0
"""Whose the files in a store are, by marks in it, and the only code that deletes them.

=============================  ==================================================================
``matrixone-owner.json``       whose a prefix or folder is, for all time; the first object in it,
                               and the last one that is deleted
``matrixone-owner.0002.json``  the second attempt of the same owner; the highest number counts
``matrixone-restore.json``     the same of a copy of a backup, in the storage of a new database
``…request-<nonce>.json``      for a moment, while a mark is written: a probe whether the store
                               knows conditional writes, and where it does not, what rivals see
=============================  ==================================================================

A mark is written on the condition that there is none (``If-None-Match: *``; a link that fails when
the name exists). Where a store ignores or refuses such conditions, an attempt first writes a
request of its own, and then lists: of two attempts, the later writer sees the other one, and
whoever sees another one withdraws. That needs listings which show every object that was written
before; a store without them, and without conditional writes, cannot keep two attempts apart.

Before each page that is deleted, the mark is read again, and marks of others are looked for in
every folder of the page and in every folder around. Between the answer and the page, another
attempt of the *same* owner may take over. It therefore waits before it writes anything
(`taking.SETTLED`).
"""
