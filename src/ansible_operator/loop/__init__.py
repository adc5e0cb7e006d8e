# SPDX-License-Identifier: Apache-2.0
"""From event to run: triggers, queue, controller, variables, finalizers, status, dependents."""
