"""What is in the library: families of rounds, each with its file of optima."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds import Round
from muri_opt.rounds.quantities import whole
from muri_opt.studies.library.best import BEST_SUFFIX, COMPRESSED, Best, Optimum, best_path, read_best, save_best
from muri_opt.studies.library.gaps import Gap
from muri_opt.studies.library.recipe import Recipe, load_instance
from muri_opt.systems import policy_from

FAMILIES: Final[Mapping[str, str]] = {
    "toy": "solved by hand in a chapter of the book",
    "small": "random rounds of every policy family, each with a proved optimum",
    "paper": "settings of the published systems, with the source of their figures",
    "stress": "large random rounds, with the best value and bound that are known",
    "worst": "rounds on which a heuristic is far from the optimum, with the gap proved",
    "peers": "cases from the tests of other schedulers, with what these expect",
    "traces": "rounds of 10 to 10,000 jobs after public traces, with the best value and bound that are known",
}
_MOST_JOBS = 1 << 40

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One round of the library: its name (``family/name``), size, file, and what is known of it."""

    name: str
    path: Path
    jobs: int
    nodes: int
    best: Best
    given: Round | Recipe

    @property
    def family(self) -> str:
        """The family, the part of the name before the stroke."""
        return self.name.partition("/")[0]

    def round(self) -> Round:
        """Return the round, generated if only its recipe is stored."""
        if isinstance(self.given, Round):
            return self.given
        try:
            return self.given.round()
        except InputError as error:
            raise InputError(f"{self.name}.json: {error.field}", error.found, error.allowed) from None

    def optima(self, policy: str | None = None) -> tuple[Optimum, ...]:
        """Return what is known, of one policy if one is named: any parameters, unless some are given."""
        return tuple(one for one in self.best.optima if policy is None or _matches(one.policy, policy))

    def optimum(self, policy: str) -> Optimum:
        """Return what is known under the policy that is written exactly so."""
        known = {optimum.policy: optimum for optimum in self.best.optima}
        if policy not in known:
            raise unknown_name(f"policy of {self.name}", policy, known)
        return known[policy]

    def gaps(self, policy: str | None = None) -> tuple[Gap, ...]:
        """Return the gaps that are stored, of one policy if one is named: any parameters, unless some are given."""
        return tuple(one for one in self.best.gaps if policy is None or _matches(one.policy, policy))

    def save(self, best: Best) -> None:
        """Write what is known now."""
        save_best(best, self.path)


def library_folder() -> Path:
    """Return the folder of the library that came with the package, or of the clone it runs from."""
    package = Path(__file__).resolve().parents[2]
    shipped = package / "_data" / "instances"
    return shipped if shipped.is_dir() else package.parent / "instances"


def instances(
    folder: str | os.PathLike[str] | None = None,
    *,
    family: str | None = None,
    policy: str | None = None,
    most_jobs: int | None = None,
) -> tuple[Instance, ...]:
    """Return the instances of a library (the shipped one if none is named) in the order of families and names.

    ``policy`` keeps those with an optimum of it, whatever its parameters unless some are given; ``most_jobs`` those of
    at most so many jobs. Unknown names are refused.
    """
    if family is not None and family not in FAMILIES:
        raise unknown_name("family", family, FAMILIES)
    wanted = None if policy is None else policy_from(policy).spec if ":" in policy else policy_from(policy).name
    most = _MOST_JOBS if most_jobs is None else whole("most_jobs", most_jobs, _MOST_JOBS)
    root = library_folder() if folder is None else Path(folder)
    if not root.is_dir():
        raise InputError("library", str(root), "a folder with the families " + ", ".join(FAMILIES))
    found = [one for name in FAMILIES if family in (None, name) for one in _family(root, name)]
    return tuple(one for one in found if one.jobs <= most and one.optima(wanted))


def by_number(path: Path) -> list[str | int]:
    """Return the name of a file for sorting: ``muri-30`` goes before ``muri-100``."""
    parts = re.split(r"(\d+)", path.name)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]


def round_files(folder: Path) -> list[Path]:
    """Return the files of rounds in the folder of a family, in order."""
    return sorted((path for path in folder.glob("*.json") if not path.name.endswith(BEST_SUFFIX)), key=by_number)


def _family(root: Path, family: str) -> list[Instance]:
    folder = root / family
    rounds = round_files(folder)
    names = {path.name for path in rounds}
    for best in sorted([*folder.glob(f"*{BEST_SUFFIX}"), *folder.glob(f"*{BEST_SUFFIX}{COMPRESSED}")]):
        owner = best.name.removesuffix(COMPRESSED).removesuffix(BEST_SUFFIX) + ".json"
        if owner not in names:
            raise InputError(f"{family}/{owner}", "nothing", f"the round that {best.name} belongs to")
    return [read_instance(path, family) for path in rounds]


def read_instance(path: Path, family: str) -> Instance:
    """Return the instance with the round at ``path``; an error names the file it is in."""
    given = _named(family, path, load_instance)
    best = _named(family, best_path(path), read_best)
    jobs, nodes = (
        (given.generate.jobs, given.generate.nodes)
        if isinstance(given, Recipe)
        else (len(given.jobs), len(given.cluster.nodes))
    )
    name = f"{family}/{path.name.removesuffix('.json')}"
    return Instance(name=name, path=path, jobs=jobs, nodes=nodes, best=best, given=given)


def _named(family: str, path: Path, read: Callable[[Path], Kind]) -> Kind:
    try:
        return read(path)
    except InputError as error:
        raise InputError(f"{family}/{path.name}: {error.field}", error.found, error.allowed) from None


def _matches(policy: str, wanted: str) -> bool:
    return policy == wanted if ":" in wanted else policy.partition(":")[0] == wanted
