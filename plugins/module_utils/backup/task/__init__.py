# SPDX-License-Identifier: Apache-2.0
"""What a Job is given to do for any of these kinds: its objects, how far it is, what came of it."""
