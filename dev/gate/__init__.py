# SPDX-License-Identifier: Apache-2.0
"""`make test` and `make test-all`: which stages run, how long at most, what is reported."""
