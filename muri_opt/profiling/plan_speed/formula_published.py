"""The performance model as published: three overlaps in power-mean form, bandwidths from the shape.

With a micro-steps on p pipeline stages an iteration fills a + p - 1 slots. A slot is a forward and a backward pass of
one micro-batch through one stage; the gradient exchange overlaps with the backward pass of the last.

Layout: a replica's tensor parallel GPUs are next to each other, then its data parallel peers, then the pipeline stages.
So tensor parallelism stays inside a node, the exchange of gradients does where a whole stage fits into a node, and
stages on one node pass activations inside it.
"""

from __future__ import annotations

from typing import Final

from muri_opt.profiling.plan_speed.coefficients import Coefficients, Times, overlap
from muri_opt.profiling.plan_speed.execution import ExecutionPlan
from muri_opt.profiling.plan_speed.shape import Shape
from muri_opt.profiling.plan_speed.transformer import Model

_GRADIENT_BYTES: Final = 8  # four bytes, sent and received
_TENSOR_BYTES: Final = 32  # four all-reduces of a layer's activations, each four bytes sent and received
_PIPELINE_BYTES: Final = 16  # activations forward and gradients back, four bytes, sent and received


def published_times(model: Model, k: Coefficients, plan: ExecutionPlan, shape: Shape, forward_ms: float) -> Times:
    """Return the times of an iteration whose forward passes take ``forward_ms`` on a GPU."""
    P, steps = model.mebi_parameters, plan.accumulation
    slots = steps + plan.pp - 1
    forward = forward_ms / steps
    backward = k.k_bwd * forward
    again = forward if plan.checkpointing else 0.0
    exchange = overlap(k.k_sync, backward, _gradients(P, plan, shape))
    if plan.states == "offload":
        swap = 4 * P / plan.gpus / shape.links.to_host()
        exchange = overlap(k.k_off, exchange, swap)
        step = overlap(k.k_swap, k.k_opt_offload * P / (plan.gpus * shape.cpus_per_gpu), swap)
    else:
        step = k.k_opt * P / (plan.gpus if plan.states == "zero" else plan.tp * plan.pp)
    exchange += slots * _activations(model, plan, shape)
    iteration = slots * (forward + again) + (slots - 1) * backward + exchange + step + k.k_const
    return Times(exchange + again, step, iteration)


def _gradients(P: float, plan: ExecutionPlan, shape: Shape) -> float:
    """Return the milliseconds in which replicas exchange gradients; data parallel plans do so after each micro-step."""
    if plan.dp == 1:
        return 0.0
    stage = plan.tp * plan.dp
    inside = shape.nodes == 1 or (stage <= shape.gpus_per_node and shape.gpus_per_node % stage == 0)
    bandwidth = shape.links.intra_gb_s if inside else shape.links.between_nodes()
    times = plan.accumulation if plan.pure_data else 1
    return times * _GRADIENT_BYTES * P / (plan.tp * plan.pp) * (plan.dp - 1) / plan.dp / bandwidth


def _activations(model: Model, plan: ExecutionPlan, shape: Shape) -> float:
    """Return the milliseconds of one slot in which activations travel inside a layer and between stages."""
    samples = model.batch / (plan.dp * plan.accumulation)
    numbers = samples * model.mebi_tokens_hidden
    spent = 0.0
    if plan.tp > 1:
        layers = model.layers / plan.pp
        spent += _TENSOR_BYTES * numbers * layers * (plan.tp - 1) / plan.tp / shape.links.intra_gb_s
    if plan.pp > 1:
        bandwidth = shape.links.intra_gb_s if shape.nodes == 1 else shape.links.between_nodes()
        spent += _PIPELINE_BYTES * numbers / plan.tp / bandwidth
    return spent
