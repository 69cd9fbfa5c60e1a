"""Every command and every piece of Python shown in the documentation runs, and prints what is shown.

A ``console`` block holds commands behind ``$`` and what they print; a line of three dots stands for any lines. Times
are not compared. Targets of the Makefile are looked up there, and the recipe of ``make demo`` is run line by line.

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
from pathlib import Path

import pytest
from proved_answers import overstated, overstated_result
from toy_package import files_of, install, scripts_of

from muri_opt import Result
from muri_opt.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("formulations/**/*.md")])
PRINTING = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", flags=re.MULTILINE | re.DOTALL)
"""Python, and the text right after it, which is what it prints."""
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
WIDTH = "120"
"""Columns of the terminal for which the pages were written."""
SECONDS = re.compile(r"\d+\.\d+(?= s\b)|(?<=seconds      ).*|\d+\.\d+(?=[,)])")


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with the shipped data, in which commands run as in a clone."""
    for name in ("instances", "formulations"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def blocks(page, kind):
    return [text for found, text in BLOCK.findall(page.read_text()) if found == kind]


def arguments(command):
    """Return the words of a command of ``muri-opt``; the runs of a study are done without processes of their own."""
    words = shlex.split(command)[1:]
    return [*words, "--engine", "here"] if words[0] in ("compare", "replay") else words


def run_here(command, capsys):
    """Run ``muri-opt`` in this process, in the folder where it is."""
    code = main(arguments(command))
    out, err = capsys.readouterr()
    return code, out + err


TOGETHER = """
import contextlib, io, json, sys
from muri_opt.cli.main import main
answers = []
for words in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        code = main(words)
    answers.append((code, out.getvalue()))
json.dump(answers, sys.stdout)
"""


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


def shown(page):
    """Return (command, lines printed) of every console block, long commands joined."""
    for text in blocks(page, "console"):
        for part in re.split(r"^\$ ", text.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            yield command, lines


def same(lines, printed):
    """Return whether the shown lines are what was printed; ``...`` stands for any lines."""
    pattern = r"\n".join(r"(.*\n)*?.*" if line.strip() == "..." else re.escape(line.rstrip()) for line in lines)
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in printed.rstrip("\n").split("\n"))) is not None


def masked(text):
    return SECONDS.sub("#", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_print_what_it_shows(page, desk, capsys, monkeypatch):
    makefile = (ROOT / "Makefile").read_text()
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
        if command.startswith("make "):
            assert re.search(rf"^{command.split()[1]}:", makefile, flags=re.MULTILINE), command
            continue
        code, printed = next(answers) if command in ours else run_alone(command, desk)
        assert code == 0, f"{command}\n{printed}"
        assert not lines or same(masked("\n".join(lines)).split("\n"), masked(printed)), f"{command}\n{printed}"
        assert overstated(printed) == [], command
    assert [found for file in desk.glob("*.json") for found in overstated(file.read_text())] == []


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
