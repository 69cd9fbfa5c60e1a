"""Follow the first pages as a newcomer does, in an environment with nothing but the wheel, and take the times.

``python -m benchmarks.page_times ENVIRONMENT`` needs a virtual environment into which the wheel was installed, with
the extra ``testing``. Each page gets an empty folder; its commands run one by one, its Python as one script. Reading
is reckoned at 200 words a minute, over all words of the page: prose, tables, code and what is printed.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    "README.md",
    "docs/tutorial.md",
    "docs/for-engineers.md",
    "docs/for-researchers.md",
    "docs/for-testers.md",
    "docs/for-operators.md",
    "docs/for-students.md",
)
WORDS_A_MINUTE = 200
_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def commands(text: str) -> list[str]:
    """Return the commands of ``muri-opt`` that a page shows; what installs and what makes is not timed."""
    shown = "".join(body for kind, body in _BLOCK.findall(text) if kind == "console").replace("\\\n", "")
    return re.findall(r"^\$ (muri-opt .*)$", shown, flags=re.MULTILINE)


def followed(name: str, environment: Path) -> tuple[int, int, float, float]:
    """Return the words of a page, the number of its commands, and the seconds of its commands and of its Python."""
    text = (ROOT / name).read_text()
    script = "".join(body for kind, body in _BLOCK.findall(text) if kind == "python")
    with tempfile.TemporaryDirectory() as folder:
        typed = sum(
            _seconds([environment / "bin" / "muri-opt", *shlex.split(line)[1:]], folder) for line in commands(text)
        )
        python = _seconds([environment / "bin" / "python", "-c", script], folder) if script else 0.0
    return len(text.split()), len(commands(text)), typed, python


def _seconds(command: list[object], folder: str) -> float:
    installed_only = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    started = time.monotonic()
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, env=installed_only, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command}\n{done.stdout}{done.stderr}")
    return time.monotonic() - started


def main(environment: Path) -> None:
    """Print the table of the pages."""
    print("| page | words | reading | commands | their time | its Python | together |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in PAGES:
        words, number, typed, python = followed(name, environment)
        minutes = words / WORDS_A_MINUTE
        together = minutes + (typed + python) / 60
        print(
            f"| {name} | {words} | {minutes:.1f} min | {number} | {typed:.0f} s | {python:.0f} s | {together:.1f} min |"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
