"""The page of policies has every policy of the package, with what it needs and an example; front pages lead there."""

import re
from pathlib import Path

import pytest

from muri_opt import policy_from
from muri_opt.systems.registry import systems

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "policies.md").read_text()
KINDS = {name: kind for system in systems() for name, kind in system.policies.items()}
OWN = [name for name, kind in KINDS.items() if kind.__module__.startswith("muri_opt.")]
"""Policies of other packages that happen to be installed have pages of their own."""


def section(name):
    """Return what stands under the heading of a policy."""
    parts = re.split(rf"^### {re.escape(name)}\n", PAGE, flags=re.MULTILINE)
    assert len(parts) == 2, f"docs/policies.md has no section '### {name}'"
    return re.split(r"^#", parts[1], flags=re.MULTILINE)[0]


@pytest.mark.parametrize("name", OWN)
def test_a_policy_has_a_section_with_its_needs_and_an_example(name):
    needs = ", ".join(f"`{field}`" for field in policy_from(name).needs) or "nothing else"
    assert f"\n*Needs:* {needs}.\n" in section(name)
    assert re.search(rf"^\$ muri-opt solve \S+ --policy {name}\b", section(name), flags=re.MULTILINE)
    assert f"[`{name}`](#{name})" in PAGE.partition("\n## ")[0]


def test_no_section_is_of_a_policy_that_is_not_there():
    assert sorted(re.findall(r"^### (.*)$", PAGE, flags=re.MULTILINE)) == sorted(OWN)


@pytest.mark.parametrize("front", ["README.md", "docs/index.md"])
def test_the_front_pages_lead_to_the_policies(front):
    assert re.search(r"\]\((docs/)?policies\.md\)", (ROOT / front).read_text())
