"""What the pages of the documentation show: commands with what they print, and pieces of Python."""

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRINTING = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", flags=re.MULTILINE | re.DOTALL)
"""Python, and the text right after it, which is what it prints."""
_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
WIDTH = "120"
"""Columns of the terminal for which the pages were written."""
_SECONDS = re.compile(r"\d+\.\d+(?= s\b)|(?<=seconds      ).*|\d+\.\d+(?=[,)])")
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
"""Runs commands of ``muri-opt`` in one process: lists of words in, exit codes and what was printed out."""


def blocks(page, kind):
    return [text for found, text in _BLOCK.findall(page.read_text()) if found == kind]


def arguments(command):
    """Return the words of a command of ``muri-opt``; the runs of a study are done without processes of their own."""
    words = shlex.split(command)[1:]
    return [*words, "--engine", "here"] if words[0] in ("compare", "replay") else words


def shown(page):
    """Return (command, lines printed) of every console block, long commands joined."""
    for text in blocks(page, "console"):
        for part in re.split(r"^\$ ", text.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            yield command, lines


def same(lines, printed):
    """Return whether the shown lines are what was printed, times apart; ``...`` stands for any lines."""
    if not lines:
        return True
    lines, printed = _masked("\n".join(lines)).split("\n"), _masked(printed)
    pattern = r"\n".join(r"(.*\n)*?.*" if line.strip() == "..." else re.escape(line.rstrip()) for line in lines)
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in printed.rstrip("\n").split("\n"))) is not None


def _masked(text):
    return _SECONDS.sub("#", text)
