"""Every command and every piece of Python shown in the documentation runs, and prints what is shown.

A ``console`` block holds commands behind ``$`` and what they print; a line of three dots stands for any lines. Times
are not compared. Targets of the Makefile are looked up there, and the recipe of ``make demo`` is run line by line;
what ``pip install`` names is looked up in ``pyproject.toml``. Pictures shown are written by a command of the page.

The commands of a page run here, one after another, with the solver process of the one before: starting Python again
for each would take most of the time. Those of a page whose package has to be installed first, or that shows a file to
be written, run in one process that finds it. Modules of Python and the demo run in processes of their own.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib

import pytest
from proved_answers import overstated, overstated_result
from shown_commands import PRINTING, ROOT, TOGETHER, WIDTH, arguments, blocks, same, shown
from toy_package import files_of, install, scripts_of

from muri_opt import Result
from muri_opt.cli.main import main

PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("formulations/**/*.md")])
PICTURE = re.compile(r"^!\[[^\]]+\]\(([^)]+\.svg)\)$", flags=re.MULTILINE)
INSTALL = re.compile(r"pip install (?:muri-opt|'muri-opt\[(\w+)\]')")


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with the shipped data, in which commands run as in a clone."""
    for name in ("instances", "formulations"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_here(command, capsys):
    """Run ``muri-opt`` in this process, in the folder where it is."""
    code = main(arguments(command))
    out, err = capsys.readouterr()
    return code, out + err


def run_together(commands, folder):
    """Run commands of ``muri-opt`` in one process that finds what is installed in the folder; return all answers."""
    words = json.dumps([arguments(command) for command in commands])
    code, printed = python(["-c", TOGETHER], folder, given=words)
    assert code == 0, printed
    return json.loads(printed)


def run_alone(command, folder):
    """Run a command in a process of its own."""
    words = shlex.split(command)
    assert words[0] in ("muri-opt", "python"), f"no test knows how to run: {command}"
    return python(["-m", "muri_opt", *words[1:]] if words[0] == "muri-opt" else words[1:], folder)


def python(arguments, folder, given=None):
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        input=given,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env={**os.environ, "COLUMNS": WIDTH, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder / "site")])},
    )
    return done.returncode, done.stdout + done.stderr


def only_looked_up(command):
    """Return whether a command is not run but looked up: what is made, or can be installed, is known elsewhere."""
    if command.startswith("make "):
        makefile = (ROOT / "Makefile").read_text()
        assert re.search(rf"^{command.split()[1]}:", makefile, flags=re.MULTILINE), command
        return True
    if command.startswith("pip "):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        assert INSTALL.fullmatch(command)[1] in {None, *project["optional-dependencies"]}, command
        return True
    return False


def stale_pictures(page, desk):
    """Return the pictures of a page that its commands have drawn otherwise than the page shows them."""
    shown_here = [page.parent / name for name in PICTURE.findall(page.read_text())]
    written = {path: found for path in shown_here for found in desk.rglob(path.name)}
    assert set(shown_here) == set(written), "a picture that no command of the page writes"
    return [path.name for path, found in written.items() if path.read_bytes() != found.read_bytes()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_print_what_it_shows(page, desk, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", WIDTH)
    ours = [command for command, _ in shown(page) if command.startswith("muri-opt ")]
    for name, text in scripts_of(page).items():
        (desk / name).write_text(text)
    if files_of(page):
        install(page, desk)
    if files_of(page) or scripts_of(page):
        answers = iter(run_together(ours, desk))
    else:
        answers = (run_here(command, capsys) for command in ours)
    for command, lines in shown(page):
        if only_looked_up(command):
            continue
        code, printed = next(answers) if command in ours else run_alone(command, desk)
        assert code == 0, f"{command}\n{printed}"
        assert same(lines, printed), f"{command}\n{printed}"
        assert overstated(printed) == [], command
    assert [found for file in desk.glob("*.json") for found in overstated(file.read_text())] == []
    assert stale_pictures(page, desk) == [], "replace these by what the commands of the page write"


@pytest.mark.parametrize(
    "page", [p for p in PAGES if blocks(p, "python")], ids=lambda page: str(page.relative_to(ROOT))
)
def test_the_python_of_a_page_runs_and_prints_what_it_shows(page, desk, capsys):
    names: dict[str, object] = {"__name__": "shown"}
    for text, prints in PRINTING.findall(page.read_text()):
        # No path: hypothesis would read the whole page as if it were Python.
        exec(compile(text, f"<{page.name}>", "exec"), names)  # noqa: S102
        printed = capsys.readouterr().out
        assert not prints or printed == prints
    assert len(names) > 2
    assert [found for found in names.values() if isinstance(found, Result) and overstated_result(found)] == []


def test_the_demo_ends_with_a_proof_and_a_picture(desk):
    recipe = re.search(r"^demo:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)[1]
    (desk / "demo-output").mkdir()
    commands = [line.strip().removeprefix("$(BIN)/") for line in recipe.splitlines() if "$(BIN)/muri-opt" in line]
    printed = ""
    for command in commands:
        code, text = run_alone(command, desk)
        assert code == 0, text
        printed += text
    for word in ("value", "bound", "gap", "proof"):
        assert word in printed
    assert (desk / "demo-output" / "round.svg").read_text().startswith("<svg")
    assert len(commands) == 3
