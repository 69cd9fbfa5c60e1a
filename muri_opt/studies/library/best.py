"""``<name>.best.json``: what is known of a round, per policy, with all that is needed to check it again."""

from __future__ import annotations

import datetime
import gzip
import os
import zlib
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from muri_opt.errors import InputError
from muri_opt.rounds import Certificate, Evidence, Limit, Proof, Reason, Result, Termination, relative_gap
from muri_opt.rounds.long_numbers import decoded, long_numbers
from muri_opt.rounds.text_files import MOST_BYTES, read_text
from muri_opt.studies.library.gaps import Gap, measure_name
from muri_opt.studies.library.stored_decision import StoredDecision
from muri_opt.systems import policy_from

BEST_FORMAT: Final[Literal["muri-opt/best/1"]] = "muri-opt/best/1"
BEST_SUFFIX: Final = ".best.json"
COMPRESSED: Final = ".gz"
PLAIN_BYTES: Final = 120_000
"""Files of more are compressed: the decision of 10,000 jobs alone takes some hundred thousand."""


class Optimum(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The best value and bound that are known under one policy: who proved the bound, by which method, how and when.

    ``decision`` has the value, ``evidence`` is what the bound follows from. The two need not come from one solve.
    """

    policy: str
    value: int
    bound: int | None = None
    proof: Proof | None = None
    method: str
    how: str
    date: datetime.date
    version: str
    decision: StoredDecision
    evidence: tuple[Evidence, ...] = ()

    def __post_init__(self) -> None:
        if (self.bound is None) != (self.proof is None):
            found = "a proof without a bound" if self.bound is None else "a bound without a proof"
            raise InputError("proof", found, "both or neither")
        if self.proof is Proof.CLAIM_ONLY:
            raise InputError("proof", repr(self.proof.value), "a proof that was checked, or the agreement of solvers")
        spec = policy_from(self.policy).spec
        if spec != self.policy:
            raise InputError("policy", repr(self.policy), repr(spec))

    @property
    def proved(self) -> bool:
        """Whether the value is the optimum."""
        return self.value == self.bound

    @property
    def gap(self) -> float | None:
        """The relative gap between value and bound; ``None`` without a bound."""
        return None if self.bound is None else relative_gap(self.value, self.bound)

    def result(self, fingerprint: str) -> Result:
        """Return the result that a verifier is to check."""
        ended = (
            Termination(reason=Reason.OPTIMAL, detail=self.how)
            if self.proved
            else Termination(reason=Reason.FEASIBLE, limit=Limit.TIME, detail=self.how)
        )
        return Result(
            fingerprint=fingerprint,
            policy=self.policy,
            rules=dict(policy_from(self.policy).rules),
            method=self.method,
            value=self.value,
            bound=self.bound,
            gap=self.gap,
            termination=ended,
            decision=self.decision.decision(),
            certificate=Certificate(feasible=False, evidence=self.evidence),
        )


class Best(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file: which round, where it comes from, its optima, each under another policy, and gaps of algorithms."""

    format: Literal["muri-opt/best/1"]
    fingerprint: str
    source: str
    optima: tuple[Optimum, ...]
    gaps: tuple[Gap, ...] = ()

    def __post_init__(self) -> None:
        policies = [optimum.policy for optimum in self.optima]
        twice = sorted({policy for policy in policies if policies.count(policy) > 1})
        if twice:
            raise InputError("optima", f"{twice[0]!r} more than once", "one optimum per policy")
        if not self.optima:
            raise InputError("optima", "nothing", "at least one optimum")
        if len({(gap.policy, measure_name(gap)) for gap in self.gaps}) < len(self.gaps):
            raise InputError("gaps", "one policy and measure more than once", "one gap each")

    def with_optimum(self, optimum: Optimum) -> Best:
        """Return the file with what is now known under the policy of ``optimum``, which it has already."""
        kept = tuple(optimum if known.policy == optimum.policy else known for known in self.optima)
        return msgspec.structs.replace(self, optima=kept)


def parse_best(text: str) -> Best:
    """Return what the JSON ``text`` holds; every fault is one :class:`InputError`."""
    try:
        return decoded(text, Best)
    except (ValueError, RecursionError) as error:
        cause: Any = error.__cause__
        if isinstance(cause, InputError):
            raise cause from None
        raise InputError("best", str(error) or "JSON nested too deep", f"a file of {BEST_FORMAT}") from None


def read_best(path: str | os.PathLike[str]) -> Best:
    """Return what is known of a round from the file at ``path``; ``.gz`` is a compressed one."""
    if not os.fspath(path).endswith(COMPRESSED):
        return parse_best(read_text(path, "optima"))
    try:
        with gzip.open(path) as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise InputError("file", f"more than {MOST_BYTES:,} bytes", f"at most {MOST_BYTES:,} bytes")
        return parse_best(data.decode())
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        found = getattr(error, "strerror", None) or str(error)
        raise InputError("file", found, "a readable compressed file of optima") from None


def best_path(path: Path) -> Path:
    """Return the file of optima that belongs to the file of a round: the compressed one where there is one."""
    plain = path.with_name(path.name.removesuffix(".json") + BEST_SUFFIX)
    compressed = plain.with_name(plain.name + COMPRESSED)
    return compressed if compressed.exists() else plain


def save_best(best: Best, path: Path) -> None:
    """Write what is known of the round at ``path`` beside it, compressed where it is large."""
    plain = path.with_name(path.name.removesuffix(".json") + BEST_SUFFIX)
    compressed = plain.with_name(plain.name + COMPRESSED)
    chosen, other = (compressed, plain) if len(best_text(best)) > PLAIN_BYTES else (plain, compressed)
    write_best(best, chosen)
    other.unlink(missing_ok=True)


def write_best(best: Best, path: str | os.PathLike[str]) -> None:
    """Write the file, whole or not at all; ``.gz`` is compressed, the same content always to the same bytes."""
    target = Path(path)
    data = best_text(best).encode()
    if target.name.endswith(COMPRESSED):
        data = gzip.compress(data, mtime=0)
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        beside.write_bytes(data)
        beside.replace(target)
    except OSError as error:
        raise InputError(str(path), error.strerror or str(error), "a file that can be written") from None
    finally:
        beside.unlink(missing_ok=True)


def best_text(best: Best) -> str:
    """Return the content of the file, one line per optimum and gap; reading it gives an equal object."""
    head = {"format": best.format, "fingerprint": best.fingerprint, "source": best.source}
    lines = [f" {_text(name)}: {_text(value)}," for name, value in head.items()]
    optima = ",\n".join(f"  {_text(optimum)}" for optimum in best.optima)
    gaps = ",\n".join(f"  {_text(gap)}" for gap in best.gaps)
    lines += [' "optima": [', optima, " ],", ' "gaps": [', gaps, " ]"] if gaps else [' "optima": [', optima, " ]"]
    return "\n".join(["{", *lines, "}", ""])


def _text(value: Any) -> str:
    with long_numbers():
        return msgspec.json.encode(value).decode()
