"""A solver of a version that is known to lie is refused, with the remedy, and nothing else is."""

import pytest
from conformance import HOUR
from sample_models import gangs

from muri_opt.errors import RefusalError
from muri_opt.modelling import ModelBuilder
from muri_opt.rounds import Reason
from muri_opt.solve.solvers.cbc import Cbc
from muri_opt.solve.solvers.highs import Highs
from muri_opt.solve.solvers.trust import KnownFault, known_fault, version_number

FAULT = KnownFault(first=(2, 10, 4), last=(2, 10, 9), seen="which was seen to lie", remedy="2.10.10, or use highs")


@pytest.mark.parametrize(
    ("said", "number"),
    [("CBC 2.10.3", (2, 10, 3)), ("SCIP in OR-Tools 9.15.6755", (9, 15, 6755)), ("CBC devel", None), ("3", None)],
)
def test_the_number_of_a_version(said, number):
    assert version_number(said) == number


@pytest.mark.parametrize(
    ("said", "bad"),
    [("2.10.3", False), ("2.10.4", True), ("2.10.9", True), ("2.10.10", False), ("2.9.7", False), ("devel", False)],
)
def test_versions_are_compared_as_numbers(said, bad):
    assert (known_fault(f"CBC {said}", [FAULT]) is FAULT) is bad


class Doubtful(Highs):
    """HiGHS that says it has a version with a known fault."""

    known_faults = (FAULT,)

    def version(self):
        return "HiGHS 2.10.5"


def test_a_version_known_to_lie_is_refused_with_the_remedy():
    with pytest.raises(RefusalError) as refusal:
        Doubtful().solve(gangs(), HOUR)
    assert refusal.value.field == "highs: version"
    assert refusal.value.found == "HiGHS 2.10.5, which was seen to lie"
    assert refusal.value.allowed == "2.10.10, or use highs"


def test_a_model_that_needs_no_solver_needs_no_trust():
    outcome = Doubtful().solve(ModelBuilder("empty").finish(maximise=True, columns=[], coefficients=[]), HOUR)
    assert outcome.termination.reason is Reason.OPTIMAL


class Sound(Doubtful):
    """The same of a version without the fault."""

    def version(self):
        return "HiGHS 2.10.10"


def test_a_version_without_a_known_fault_is_used():
    assert Sound().solve(gangs(), HOUR).value == 34


def stating(version, folder):
    """Return an executable that says it is this version of CBC."""
    path = folder / "cbc"
    path.write_text(f"#!/bin/sh\necho 'Version: {version}'\n")
    path.chmod(0o755)
    return path


def test_the_version_is_that_of_the_executable_that_would_run(tmp_path, monkeypatch):
    from pulp import PULP_CBC_CMD

    monkeypatch.setattr(PULP_CBC_CMD, "pulp_cbc_path", str(stating("2.10.5", tmp_path)))
    monkeypatch.setattr(Cbc, "known_faults", (FAULT,))
    with pytest.raises(
        RefusalError, match=r"cbc: version: found CBC 2\.10\.5, which was seen to lie; allowed: 2\.10\.10"
    ):
        Cbc().solve(gangs(), HOUR)


def test_highs_1_14_is_refused():
    """It calls x = 1, y = 0 the optimum of ``continuous(mixed=True)``, worth 1; the optimum is 5/3."""
    (fault,) = Highs.known_faults
    assert known_fault("HiGHS 1.14.0", [fault]) is fault
    assert [known_fault(f"HiGHS {said}", [fault]) for said in ("1.12.0", "1.13.1", "1.15.1")] == [None, None, None]
