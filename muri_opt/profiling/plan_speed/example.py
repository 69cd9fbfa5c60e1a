"""Samples to start from: a made-up model, profiled in every way the fit needs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import msgspec

from muri_opt.profiling.plan_speed.coefficients import Coefficients
from muri_opt.profiling.plan_speed.execution import ExecutionPlan
from muri_opt.profiling.plan_speed.formula_published import published_times
from muri_opt.profiling.plan_speed.sample_files import SAMPLES_FORMAT
from muri_opt.profiling.plan_speed.shape import Links, Shape
from muri_opt.profiling.plan_speed.transformer import Model

_MODEL: Final = Model(
    name="example-1b", parameters=1_300_000_000, layers=24, heads=16, hidden=2048, sequence=1024, batch=16
)
_LINKS: Final = Links(intra_gb_s=120.0, inter_gb_s=12.0, host_gb_s=16.0)
_TRUE: Final = Coefficients(k_bwd=2.0, k_sync=2.5, k_opt=0.04, k_opt_offload=3.0, k_const=12.0, k_off=1.5, k_swap=1.3)
_FORWARD_MS: Final = 800.0
_RUNS: Final = (
    ("replicated", 2, 1),
    ("replicated", 8, 1),
    ("zero", 4, 1),
    ("zero", 8, 1),
    *(("offload", gpus, cpus) for gpus in (1, 4, 8) for cpus in (2, 8)),
)
_NOISE: Final = (1.01, 0.99, 1.0, 0.995, 1.005)


def example_samples() -> str:
    """Return the text of a samples file: times the published form predicts, off by up to a hundredth."""
    rows: list[dict[str, Any]] = []
    for number, (states, gpus, cpus) in enumerate(_RUNS):
        plan = ExecutionPlan(gpus=gpus, dp=gpus, states=states)
        shape = Shape(gpus_per_node=gpus, cpus_per_gpu=cpus, links=_LINKS)
        forward = _FORWARD_MS / gpus
        times = published_times(_MODEL, _TRUE, plan, shape, forward)
        measured = [round(time * _NOISE[(number + part) % len(_NOISE)], 1) for part, time in enumerate(times)]
        parts = dict(zip(("exchange_ms", "step_ms", "iteration_ms"), measured, strict=True))
        rows.append({"gpus": gpus, "dp": gpus, "states": states, "cpus_per_gpu": cpus, "forward_ms": forward, **parts})
    answer = {"format": SAMPLES_FORMAT, "model": asdict(_MODEL), "links": asdict(_LINKS), "samples": rows}
    return msgspec.json.format(msgspec.json.encode(answer), indent=1).decode() + "\n"
