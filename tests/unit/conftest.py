# SPDX-License-Identifier: Apache-2.0
"""How long an example takes tells of the machine that tests share with others, not of the code."""

from hypothesis import HealthCheck, settings

settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")
