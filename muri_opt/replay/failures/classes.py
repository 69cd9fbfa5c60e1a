"""The failure classes of training jobs, as published for Microsoft's Philly clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Literal

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds.error_text import shown
from muri_opt.rounds.field_checks import check_kind, items, text
from muri_opt.rounds.quantities import MAX_COUNT, MAX_SECONDS, finite, whole

Kind = Literal["user", "infrastructure", "unclear"]
KINDS: Final[tuple[Kind, ...]] = ("user", "infrastructure", "unclear")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureClass:
    """One class: how often it was seen, in how many jobs and of how many users, and its median time to failure.

    ``kind`` is who is at fault: the user (the same run fails again), the infrastructure, or nobody can tell.
    """

    name: str
    trials: int
    jobs: int
    users: int
    median_minutes: float
    kind: Kind

    def __post_init__(self) -> None:
        text("name", self.name)
        whole("users", self.users, MAX_COUNT, 1)
        whole("jobs", self.jobs, MAX_COUNT, 1)
        whole("trials", self.trials, MAX_COUNT, 1)
        if self.trials < self.jobs:
            raise InputError("trials", f"{self.trials} in {self.jobs} jobs", "at least one a job")
        finite("median_minutes", self.median_minutes, MAX_SECONDS / 60, positive=True)
        if self.kind not in KINDS:
            raise InputError("kind", shown(self.kind), "one of " + ", ".join(KINDS))

    @property
    def median_milliseconds(self) -> int:
        """Return the median time to failure in whole milliseconds, at least one."""
        return max(1, round(self.median_minutes * 60_000))

    @property
    def trials_per_job(self) -> Fraction:
        """Return how many trials a job of this class fails in, on average."""
        return Fraction(self.trials, self.jobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureTable:
    """A list of failure classes of different names: the published one, or an operator's own."""

    classes: tuple[FailureClass, ...]
    places: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        classes = items("classes", self.classes)
        if not classes:
            raise InputError("classes", "none", "at least one failure class")
        places: dict[str, int] = {}
        for position, failure in enumerate(classes):
            check_kind(f"classes[{position}]", failure, FailureClass)
            if failure.name in places:
                raise InputError(f"classes[{position}].name", shown(failure.name), "a name of its own")
            places[failure.name] = position
        object.__setattr__(self, "classes", tuple(classes))
        object.__setattr__(self, "places", places)

    def find(self, name: str) -> FailureClass:
        """Return the class of this name, or refuse the name and suggest the nearest."""
        if name not in self.places:
            raise unknown_name("failure", name, self.places)
        return self.classes[self.places[name]]


def _published(name: str, trials: int, jobs: int, users: int, median_minutes: float, kind: Kind) -> FailureClass:
    return FailureClass(name=name, trials=trials, jobs=jobs, users=users, median_minutes=median_minutes, kind=kind)


PHILLY_FAILURES: Final = FailureTable(
    classes=(
        _published("CPU out of memory", 12_076, 2_803, 65, 13.45, "unclear"),
        _published("incorrect inputs", 9_690, 4_936, 208, 1.87, "user"),
        _published("semantic error", 2_943, 2_049, 159, 2.72, "user"),
        _published("core dump", 2_912, 1_784, 122, 0.85, "unclear"),
        _published("invalid memory access", 2_602, 1_235, 108, 1.03, "user"),
        _published("model checkpoint error", 1_995, 948, 85, 181.67, "infrastructure"),
        _published("CUDA failure", 1_484, 571, 70, 1.32, "unclear"),
        _published("syntax error", 1_132, 883, 110, 0.58, "user"),
        _published("traceback from crash", 777, 271, 44, 1.02, "unclear"),
        _published("MPI error", 634, 166, 28, 1.62, "infrastructure"),
        _published("GPU out of memory", 487, 261, 35, 18.53, "user"),
        _published("MPI runtime failure", 478, 420, 96, 1389.0, "infrastructure"),
        _published("permission error", 299, 151, 37, 1.0, "user"),
        _published("import error", 148, 148, 41, 0.67, "user"),
        _published("job preempted", 147, 95, 34, 559.0, "infrastructure"),
        _published("CUDA init failed", 141, 69, 20, 1.08, "infrastructure"),
        _published("model diverged", 84, 30, 5, 1.48, "user"),
        _published("CUDA version mismatch", 49, 49, 19, 0.83, "user"),
        _published("GPU ECC error", 10, 10, 2, 26.8, "infrastructure"),
        _published("output node error", 3, 3, 1, 0.85, "user"),
        _published("cannot load libraries", 1, 1, 1, 0.12, "user"),
        _published("no signature", 1_684, 698, 94, 1.87, "unclear"),
    )
)
"""The table of the Philly study (Jeon et al., USENIX ATC 2019), its figures unconfirmed; the kinds are our reading."""
