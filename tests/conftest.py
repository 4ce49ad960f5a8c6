"""Settings shared by all tests."""

import os

from hypothesis import settings

# No deadline: the first call of a compiled kernel takes seconds. Under CI examples are fixed, so
# that a run that passes once passes again.
settings.register_profile("pebble", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("pebble")
