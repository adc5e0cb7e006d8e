# SPDX-License-Identifier: Apache-2.0
"""What a runner does in ten situations that users of the Go runner have reported as problems."""
