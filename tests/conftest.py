"""Settings for all tests: a slow machine is no fault of the code, so Hypothesis measures no time.

Examples are the same in every run, so that a failure is due to a change; ``--hypothesis-profile=fresh`` draws others,
and more of them.
Where there is no browser, Slurm, Go, Ray or resvg, the checks that need one are left out, and the summary says so.
"""

import gc
import shutil
from importlib.util import find_spec

import pytest
from browser_pipe import CHROMIUM, Browser
from hypothesis import HealthCheck, settings
from more_examples import QUICK
from real_slurm import PACKAGES, SLURM

THERE = {
    "browser": CHROMIUM is not None,
    "slurm": SLURM,
    "go": shutil.which("go") is not None,
    "ray": find_spec("ray") is not None,
    "png": find_spec("resvg_py") is not None,
}
"""What some checks need, and whether it is here."""
settings.register_profile("fresh", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=False)
settings.register_profile("same", settings.get_profile("fresh"), derandomize=True, max_examples=QUICK)
settings.load_profile("same")


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One Chromium for all checks of pages."""
    browser = Browser(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()


def pytest_collection_modifyitems(config, items):
    missing = [marker for marker, there in THERE.items() if not there]
    left_out = [item for item in items if any(item.get_closest_marker(marker) for marker in missing)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Search for no garbage while tests are read: there is hardly any, and every search goes over all of them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish():
    """Leave what all tests are made of, some hundred thousand objects, out of every later search for garbage."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter):
    if CHROMIUM is None:
        terminalreporter.write_line("browser checks left out: no Chromium found", yellow=True)
    if not SLURM:
        terminalreporter.write_line(f"checks on a real Slurm left out: they need root and {PACKAGES}", yellow=True)
    if not THERE["go"]:
        terminalreporter.write_line("checks of the client in Go left out: no Go found", yellow=True)
    if not THERE["png"]:
        terminalreporter.write_line("checks of PNG files left out: resvg is not installed", yellow=True)
    if not THERE["ray"]:
        terminalreporter.write_line("checks on Ray left out: it is not installed", yellow=True)
