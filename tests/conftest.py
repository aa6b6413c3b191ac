"""How hypothesis looks for examples: the same ones in every run, whatever else the machine does."""

from hypothesis import HealthCheck, settings

SLOW = (HealthCheck.too_slow,)  # says how busy the machine is, not whether the code is right
settings.register_profile("same", deadline=None, derandomize=True, suppress_health_check=SLOW)
settings.register_profile("new", deadline=None, suppress_health_check=SLOW)  # --hypothesis-profile new
settings.load_profile("same")
