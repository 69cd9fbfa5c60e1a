"""The pages that newcomers follow first hold where nothing but the wheel is installed, in an empty folder."""

import json
import os
import subprocess
import sys

import pytest
from shown_commands import PRINTING, ROOT, TOGETHER, WIDTH, arguments, same, shown

PAGES = [
    "README.md",
    "docs/index.md",
    "docs/tutorial.md",
    "docs/gallery.md",
    *(f"docs/{path.name}" for path in ROOT.glob("docs/for-*.md")),
]
INSTALLED = "import muri_opt, os; assert muri_opt.__file__.startswith(os.environ['PYTHONPATH']), muri_opt.__file__\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder into which pip has installed the wheel; what it depends on is where the tests find it."""
    place = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = place.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--target", str(place / "site"), str(wheel)], check=True, timeout=300)
    return place / "site"


def run(code, folder, installed, given=None):
    environment = {**os.environ, "COLUMNS": WIDTH, "PYTHONPATH": str(installed)}
    done = subprocess.run(
        [sys.executable, "-c", INSTALLED + code],
        cwd=folder,
        input=given,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_piece_of_python_works_from_the_wheel(page, installed, tmp_path):
    commands = [(command, lines) for command, lines in shown(ROOT / page) if command.startswith("muri-opt ")]
    told = run(TOGETHER, tmp_path, installed, given=json.dumps([arguments(command) for command, _ in commands]))
    for (command, lines), (code, printed) in zip(commands, json.loads(told), strict=True):
        assert code == 0, f"{command}\n{printed}"
        assert same(lines, printed), f"{command}\n{printed}"
    pieces = PRINTING.findall((ROOT / page).read_text())
    printed = run("".join(code for code, _ in pieces), tmp_path, installed)
    assert printed == "".join(prints for _, prints in pieces)
