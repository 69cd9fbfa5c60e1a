"""Settings for all tests: a slow machine is no fault of the code, so Hypothesis measures no time."""

from hypothesis import HealthCheck, settings

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
