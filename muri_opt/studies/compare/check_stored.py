"""Do the optima that the library has stored hold? Asked before a study compares anything with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muri_opt.studies.compare.sources import NamedRound
from muri_opt.studies.library import Finding, check_optimum


class StoredOptimumError(RuntimeError):
    """Stored optima that do not verify; ``findings`` name each instance, its policy and what is wrong."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("; ".join(line for finding in findings for line in finding.lines()))
        self.findings = tuple(findings)


def check_stored(chosen: Iterable[tuple[NamedRound, Sequence[str]]]) -> None:
    """Verify what is stored under the policies that are compared, without a solver; raise if anything is wrong."""
    wrong: list[Finding] = []
    for named, policies in chosen:
        if named.best is None:
            continue
        for optimum in named.optima:
            if optimum.policy in policies:
                proof, found = check_optimum(named.round, named.best.fingerprint, optimum)
                finding = Finding(instance=named.name, policy=optimum.policy, proof=proof, violations=tuple(found))
                wrong += [finding] if found else []
    if wrong:
        raise StoredOptimumError(wrong)
