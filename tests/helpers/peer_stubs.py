"""What the adapters ask of simulators, with numbers of our own: a few rounds of three jobs; here for Gavel and Sia.

``python -c "import peer_stubs; peer_stubs.record('tests/examples')"`` with tests/helpers in PYTHONPATH writes the
conversations anew.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
from blox_stubs import blox_rounds
from muri_stubs import muri_rounds

from examples.common.links import InProcess, Recording
from examples.gavel.adapter import GavelRounds
from examples.sia.adapter import SiaRounds

LIMITS = {"work": 0.1}


class GavelStub:
    """A scheduler of Gavel: two servers of two types, jobs of 2, 1 and 4 GPUs that come and end."""

    SPEEDS: ClassVar = {0: {"v100": 4.0, "k80": 1.0}, 1: {"v100": 3.0, "k80": 2.0}, 2: {"v100": 8.0, "k80": 0.0}}
    GPUS: ClassVar = {0: 2, 1: 1, 2: 4}
    ROUNDS = ({0: 1000, 1: 900.5}, {0: 400, 1: 500, 2: 7000}, {0: 400, 1: 500, 2: 6000}, {2: 5000}, {})
    """The steps that jobs have left in each round."""

    def __init__(self):
        self._worker_type_to_worker_id_mapping = {"v100": [[0, 1, 2, 3]], "k80": [[4, 5, 6, 7]]}
        self._throughputs, self._jobs, self.round, self._allocation = self.SPEEDS, {}, -1, None
        self._per_job_start_timestamps = {0: 0.0, 1: 0.0, 2: 360.0}

    def next_round(self):
        self.round += 1
        self._jobs = {name: SimpleNamespace(scale_factor=self.GPUS[name]) for name in self.ROUNDS[self.round]}

    def get_current_timestamp(self):
        return 360.0 * self.round

    def _get_remaining_steps(self, name):
        return self.ROUNDS[self.round][name]


def gavel_rounds(link):
    """Return the workers of each job in each round."""
    theirs = GavelStub()
    rounds = GavelRounds(theirs, link, "rubick", "auto", LIMITS)
    found = []
    for _ in theirs.ROUNDS:
        theirs.next_round()
        found.append(dict(rounds.schedule()))
    return found


class SiaStub:
    """A policy of Sia: a server of 4 GPUs of each of two types."""

    cluster_num_nodes: ClassVar = {"aws": 1, "rtx": 1}
    cluster_ngpus_per_node: ClassVar = {"aws": 4, "rtx": 4}
    configs: ClassVar = {kind: (np.array([1, 1, 1]), np.array([1, 2, 4])) for kind in ("aws", "rtx")}

    def _compute_goodputs_v2(self, info, kind, nodes, gpus):
        return info.speed * {"aws": 1.0, "rtx": 2.0}[kind] * gpus**0.8


def sia_info(now, came, *, speed=None, most=1, moving=False):
    """Return what Sia tells of a job: without a speed it has not run yet."""
    return SimpleNamespace(
        creation_timestamp=came,
        age=now - came,
        attained_service=0.0,
        num_restarts=0,
        scaling_underway=moving,
        speedup_fn=dict.fromkeys(("aws", "rtx"), speed),
        max_replicas={"aws": most, "rtx": most},
        speed=speed,
    )


SIA_ROUNDS = (
    {"a": sia_info(60.0, 0.0)},
    {"a": sia_info(120.0, 0.0, speed=5.0, most=2, moving=True), "b": sia_info(120.0, 90.0)},
    {"a": sia_info(180.0, 0.0, speed=5.0, most=2), "b": sia_info(180.0, 90.0, speed=9.0, most=4)},
    {"b": sia_info(240.0, 90.0, speed=9.0, most=4)},
)


def sia_rounds(link):
    """Return type and nodes of each job in each round."""
    rounds = SiaRounds(SiaStub(), link, "sia", "auto", LIMITS, lambda _: 30.0)
    return [rounds.decide(infos, None, None) for infos in SIA_ROUNDS]


DRIVES = {"gavel": gavel_rounds, "sia": sia_rounds, "blox": blox_rounds, "muri": muri_rounds}
"""By simulator: a few rounds over a link, and what came of each."""


def record(folder):
    """Write all conversations anew."""
    for name, drive in DRIVES.items():
        link = Recording(InProcess(), Path(folder) / f"{name}_conversation.jsonl")
        for found in drive(link):
            print(name, found)
        link.close()
