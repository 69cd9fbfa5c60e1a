"""How gangs are ranked, what they are worth, and who must stay: the settings of the chapter *gangs*."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from muri_opt.rounds import INFORMATION
from muri_opt.rounds.field_groups import PLACES, QUOTAS, SHAPES, SHARES, STATES
from muri_opt.verify.gangs.tiresias import Queues
from muri_opt.verify.settings import Setting, one_of

_LEAST, _MOST = 1e-3, 2e12
SETTINGS: Final[Mapping[str, Setting]] = {
    "order": one_of("fifo", "srtf", "srsf", "las", "max-min", "fair-share", "tiresias"),
    "objective": one_of("weighted", "lexicographic"),
    "nodes": one_of("any", "fewest"),
    "preempt": one_of("yes", "no"),
    "restarts": one_of("ignore", "pay"),
    "queues": Setting(usual="3250/7200", least=_LEAST, most=_MOST, several=True),
    "knob": Setting(usual="0", least=0),
    "rank": one_of("fifo", "gittins"),
    "samples": Setting(usual="none", words=("none",), least=_LEAST, most=_MOST, several=True),
    "quantum": Setting(usual="3250", least=_LEAST, most=_MOST),
    "form": one_of("authors", "textbook"),
}
"""From ``queues`` on they are those of the order ``tiresias``."""
HONOURED: Final = INFORMATION | PLACES | SHAPES | STATES | QUOTAS | SHARES | {"job.priority"}
"""The fields of format 2 that these rules check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GangRules:
    """Gangs are worth by rank, weighted or lexicographically; the rank of Tiresias is by ``queues``.

    Under rules that ``keep_running`` jobs none of them is stopped or moved.
    """

    order: str = "fifo"
    lexicographic: bool = False
    fewest_nodes: bool = False
    keeps_running: bool = False
    queues: Queues | None = None

    @classmethod
    def of(cls, chosen: Mapping[str, str]) -> GangRules:
        """Return what the settings of the chapter say."""
        return cls(
            order=chosen["order"],
            lexicographic=chosen["objective"] == "lexicographic",
            fewest_nodes=chosen["nodes"] == "fewest",
            keeps_running=chosen["preempt"] == "no",
            queues=Queues.of(chosen) if chosen["order"] == "tiresias" else None,
        )
