"""What is promised of the formats is promised of all of them, and the citation is of this version."""

import re
from pathlib import Path

from muri_opt import __version__

ROOT = Path(__file__).resolve().parents[2]
FORMAT = re.compile(r"\bmuri-opt/[a-z-]+/\d+\b")


def test_every_format_has_its_promise():
    code = {one for path in ROOT.glob("muri_opt/**/*.py") for one in FORMAT.findall(path.read_text())}
    promise = (ROOT / "CHANGELOG.md").read_text().partition("## What the formats promise")[2].partition("\n## ")[0]
    assert set(FORMAT.findall(promise)) == code


def test_the_citation_names_this_version_and_licence():
    said = dict(re.findall(r"^([a-z-]+): (.+)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE))
    project = (ROOT / "pyproject.toml").read_text()
    assert (said["version"], said["cff-version"], said["type"]) == (__version__, "1.2.0", "software")
    assert f'license = "{said["license"]}"' in project
