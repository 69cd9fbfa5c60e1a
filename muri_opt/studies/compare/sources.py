"""One text for every set of rounds: a family or an instance of the library, a file, a folder, a family to generate."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds import Round
from muri_opt.rounds.error_text import listed, shown, whole_range
from muri_opt.rounds.generate.any_family import DESCRIPTIONS, draw_round
from muri_opt.rounds.generate.families import MOST_JOBS, MOST_NODES
from muri_opt.rounds.text_files import in_file
from muri_opt.rounds.text_options import TextOptions
from muri_opt.studies.library import FAMILIES, Best, Instance, Optimum, instances, library_folder, load_round
from muri_opt.studies.library.best import BEST_SUFFIX
from muri_opt.studies.library.instance import read_instance

GENERATE: Final = "generate:"
SYSTEMS: Final = {"muri": "interleaving", "afs": "elastic", "rubick": "plans", "aiturbo": "configurations"}
"""Published systems, and the family of rounds with what their policies need."""
MOST_COUNT: Final = 100_000
_JOBS, _NODES = 20, 4  # as many as 'muri-opt generate' makes
_SUFFIX: Final = ".json"
ALLOWED: Final = (
    f"a family of the library ({', '.join(FAMILIES)}), an instance such as small/gangs-01, a file or a folder of "
    f"rounds, or {GENERATE}FAMILY"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRound:
    """A round of a study, and what the library knows of it: nothing, ``None``, where it comes from elsewhere."""

    name: str
    round: Round
    best: Best | None = None

    @property
    def optima(self) -> tuple[Optimum, ...]:
        """What is known, under each policy."""
        return () if self.best is None else self.best.optima


def rounds_from(texts: Iterable[str], library: str | os.PathLike[str] | None = None) -> list[NamedRound]:
    """Return the rounds that the texts stand for, each once, under the first name it was given by.

    ``library`` is the folder of another library than the one that came with the package. Names of the library go before
    files of the same name: ``./small`` is a folder, ``small`` a family.
    """
    root = library_folder() if library is None else Path(library)
    found: dict[str, NamedRound] = {}
    for text in texts:
        rounds = _rounds_of(text, root)
        if not rounds:
            raise InputError(text, "no rounds", ALLOWED)
        for named in rounds:
            found.setdefault(named.round.fingerprint, named)
    return list(found.values())


def _rounds_of(text: str, root: Path) -> list[NamedRound]:
    family, stroke, name = text.partition("/")
    if text.startswith(GENERATE):
        return _generated(text.removeprefix(GENERATE))
    if text in FAMILIES:
        return [_known(one) for one in instances(root, family=text)]
    if family in FAMILIES and stroke and not name.endswith(_SUFFIX):
        return [_known(_instance(root, family, name))]
    path = Path(text)
    if path.is_dir():
        return _in_folder(path)
    if path.is_file():
        return [_in_file(path)]
    raise InputError("rounds", _with_hint(text, FAMILIES), ALLOWED)


def _with_hint(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), n=1)
    return shown(name) + (f" (did you mean {near[0]!r}?)" if near else "")


def _known(instance: Instance) -> NamedRound:
    return NamedRound(name=instance.name, round=instance.round(), best=instance.best)


def _instance(root: Path, family: str, name: str) -> Instance:
    path = root / family / f"{name}{_SUFFIX}"
    if name.endswith(BEST_SUFFIX.removesuffix(_SUFFIX)) or not path.is_file():
        known = [one.name for one in instances(root, family=family)]
        raise InputError(
            "instance", _with_hint(f"{family}/{name}", known), listed(known) or "none: the family is empty"
        )
    return read_instance(path, family)


def _in_file(path: Path) -> NamedRound:
    with in_file(path):
        return NamedRound(name=str(path), round=load_round(path))


def _in_folder(folder: Path) -> list[NamedRound]:
    paths = sorted(folder.glob(f"*{_SUFFIX}"))
    return [_in_file(path) for path in paths if not path.name.endswith(BEST_SUFFIX)]


def _generated(text: str) -> list[NamedRound]:
    """Return ``count`` rounds with the seeds that follow ``seed``."""
    family, _, tail = text.partition("?")
    if family not in DESCRIPTIONS and family not in SYSTEMS:
        raise unknown_name("family to generate", family, [*DESCRIPTIONS, *SYSTEMS])
    options = TextOptions.of("family", tail)
    options.check("jobs", "nodes", "count", "seed")
    jobs, nodes = options.whole("jobs", MOST_JOBS), options.whole("nodes", MOST_NODES)
    jobs, nodes = _JOBS if jobs is None else jobs, _NODES if nodes is None else nodes
    count, first = options.whole("count", MOST_COUNT), options.whole("seed", 2**63 - 1) or 0
    if count == 0:
        raise InputError("count", "0", whole_range(1, MOST_COUNT))
    return [
        NamedRound(
            name=f"{GENERATE}{family}?jobs={jobs}&nodes={nodes}&seed={seed}",
            round=draw_round(SYSTEMS.get(family, family), jobs=jobs, nodes=nodes, seed=seed),
        )
        for seed in range(first, first + (1 if count is None else count))
    ]
