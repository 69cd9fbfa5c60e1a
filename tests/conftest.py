"""Settings for all tests: a slow machine is no fault of the code, so Hypothesis measures no time.

Examples are the same in every run, so that a failure is due to a change; ``--hypothesis-profile=fresh`` draws others,
and more of them.
Where there is no browser, the checks that need one are left out, and the summary says so.
"""

import gc

from browser_pipe import CHROMIUM
from hypothesis import HealthCheck, settings
from more_examples import QUICK

settings.register_profile("fresh", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=False)
settings.register_profile("same", settings.get_profile("fresh"), derandomize=True, max_examples=QUICK)
settings.load_profile("same")


def pytest_collection_modifyitems(config, items):
    left_out = [item for item in items if CHROMIUM is None and item.get_closest_marker("browser")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish():
    """Leave what all tests are made of, some hundred thousand objects, out of every later search for garbage."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter):
    if CHROMIUM is None:
        terminalreporter.write_line("browser checks left out: no Chromium found", yellow=True)
