"""The performance model as the authors of Rubick ship it, constants and floors included.

Read it to reproduce their numbers. It differs from the published model: offload adds milliseconds instead of
overlapping, ``k_swap`` is charged to every plan, and the bandwidth between nodes is a constant whatever the shape says.
A plan with tensor or pipeline parallelism has a formula of its own, which knows neither micro-batches nor
checkpointing.
"""

from __future__ import annotations

from typing import Final

from muri_opt.errors import InputError
from muri_opt.profiling.plan_speed.coefficients import Coefficients, Times, overlap
from muri_opt.profiling.plan_speed.execution import ExecutionPlan
from muri_opt.profiling.plan_speed.shape import Shape
from muri_opt.profiling.plan_speed.transformer import Model

DATA_INTER_GB_S: Final = 2.0
GRID_INTER_GB_S: Final = 20.0
_TP_SPEEDUP: Final = 1.15
_GRADIENT_BYTES: Final = 8  # four bytes, sent and received
_MEBI: Final = 2**20


def shipped_times(model: Model, k: Coefficients, plan: ExecutionPlan, shape: Shape, forward_ms: float) -> Times:
    """Return the times of an iteration whose forward passes take ``forward_ms`` on a GPU."""
    if plan.pure_data:
        return _data(model, k, plan, shape, forward_ms)
    return _grid(model, k, plan, shape, forward_ms)


def shipped_forward(plan: ExecutionPlan, share_ms: float) -> float:
    """Return the forward time the authors' search assumes, from that of one GPU's even share of the batch.

    Data parallel plans take the share. For the others the search scales the time of one GPU by the degrees; that is a
    rule of thumb, which compares plans on one shape but not across shapes.
    """
    if plan.pure_data:
        return share_ms
    return share_ms * plan.gpus * plan.dp / plan.pp / _TP_SPEEDUP**plan.tp


def _data(model: Model, k: Coefficients, plan: ExecutionPlan, shape: Shape, forward_ms: float) -> Times:
    P, n, steps = model.mebi_parameters, plan.gpus, plan.accumulation
    bandwidth = shape.links.intra_gb_s if shape.nodes == 1 else DATA_INTER_GB_S
    forward = forward_ms / steps
    backward = k.k_bwd * forward
    exchange = overlap(k.k_sync, steps * _GRADIENT_BYTES * P * (n - 1) / n / bandwidth, backward)
    swap = 0.0
    if plan.states == "offload":
        swap = 4 * P / n / shape.links.to_host()
        exchange += swap + k.k_off
        step = k.k_opt_offload * P / (n * shape.cpus_per_gpu)
    else:
        step = k.k_opt * P / (n if plan.states == "zero" else 1)
    step += swap + k.k_swap
    passes = (2 if plan.checkpointing else 1) * steps
    iteration = passes * forward + (steps - 1) * backward + exchange + step + k.k_const
    again = forward if plan.checkpointing else 0.0
    return Times(exchange + again, step, iteration)


def _grid(model: Model, k: Coefficients, plan: ExecutionPlan, shape: Shape, forward_ms: float) -> Times:
    P, d, t, p = model.mebi_parameters, plan.dp, plan.tp, plan.pp
    samples = model.batch // d
    if not samples:
        raise InputError("dp", str(d), f"at most the model's batch, {model.batch}")
    numbers = model.sequence * model.hidden
    tensor = 8 * 4 * samples * numbers * model.layers * (t - 1) / t / _MEBI / shape.links.intra_gb_s
    pipeline = 0.0 if p == 1 else p * ((2 * 8 * samples * numbers) // t) / GRID_INTER_GB_S / _MEBI
    inside = shape.gpus_per_node > t and p == shape.nodes
    bandwidth = shape.links.intra_gb_s if inside else GRID_INTER_GB_S
    data = ((_GRADIENT_BYTES * (d - 1) / d * P) // t) / p / bandwidth
    exchange = overlap(k.k_sync, data, k.k_bwd * forward_ms) + tensor + pipeline
    step = k.k_opt * P / t / p
    return Times(exchange, step, forward_ms + exchange + step + k.k_const)
