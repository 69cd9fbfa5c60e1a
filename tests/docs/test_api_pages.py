"""The reference of Python has every public name, and no other."""

import re
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
NAMED = re.compile(r"^::: (muri_opt(?:\.[a-z_]+)*?)\.(\w+)$", flags=re.MULTILINE)
LISTED = {(face, name) for page in DOCS.glob("api*.md") for face, name in NAMED.findall(page.read_text())}
LEFT_OUT = {"SYSTEM", "__version__"}
"""Names that say nothing a reader would look up."""


@pytest.mark.parametrize("face", sorted({face for face, _ in LISTED} - {"muri_opt.verify"}))
def test_every_public_name_of_a_package_is_in_the_reference(face):
    listed = {name for package, name in LISTED if package == face}
    if face == "muri_opt":
        listed.add("verify")  # the package of this name, which can be called, is listed by its function
    assert listed == set(import_module(face).__all__) - LEFT_OUT


def test_the_reference_has_the_packages_that_others_may_import():
    assert {"muri_opt", "muri_opt.testing", "muri_opt.algorithms", "muri_opt.profiling"} <= {face for face, _ in LISTED}
    assert ("muri_opt.verify", "verify") in LISTED
