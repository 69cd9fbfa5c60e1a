"""The two forms of the performance model by name, with the range of every coefficient in each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from muri_opt.errors import unknown_name
from muri_opt.profiling.plan_speed.coefficients import COEFFICIENTS, MOST, MOST_EXPONENT, Coefficients, Times
from muri_opt.profiling.plan_speed.execution import ExecutionPlan
from muri_opt.profiling.plan_speed.formula_published import published_times
from muri_opt.profiling.plan_speed.formula_shipped import shipped_forward, shipped_times
from muri_opt.profiling.plan_speed.shape import Shape
from muri_opt.profiling.plan_speed.transformer import Model
from muri_opt.rounds.field_checks import text


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One form: its formula, and where its coefficients may lie.

    ``scaled`` makes the forward time of a plan from that of an even share of the batch; ``None``: they are the same.
    ``usual`` are values in the middle of what models have, from which a search can start.
    """

    name: str
    times: Callable[[Model, Coefficients, ExecutionPlan, Shape, float], Times]
    scaled: Callable[[ExecutionPlan, float], float] | None
    least: tuple[float, ...]
    most: tuple[float, ...]
    usual: tuple[float, ...]

    def forward_ms(self, plan: ExecutionPlan, share_ms: float) -> float:
        """Return the time of a GPU's forward passes under ``plan``, from that of its even share of the batch."""
        return share_ms if self.scaled is None else self.scaled(plan, share_ms)

    def bounds(self, coefficient: str) -> tuple[float, float]:
        """Return the least and the largest value of a coefficient."""
        position = COEFFICIENTS.index(coefficient)
        return self.least[position], self.most[position]


_MOST_BACKWARD: Final = 10.0

FORMS: Final = {
    form.name: form
    for form in (
        Form(
            name="published",
            times=published_times,
            scaled=None,
            least=(1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0),
            most=(_MOST_BACKWARD, MOST_EXPONENT, MOST, MOST, MOST, MOST_EXPONENT, MOST_EXPONENT),
            usual=(2.0, 1.7, 0.05, 3.0, 10.0, 1.5, 1.4),
        ),
        Form(
            name="shipped",
            times=shipped_times,
            scaled=shipped_forward,
            least=(1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
            most=(_MOST_BACKWARD, MOST_EXPONENT, MOST, MOST, MOST, MOST, MOST),
            usual=(2.0, 1.7, 0.05, 3.0, 10.0, 20.0, 30.0),
        ),
    )
}


def form_named(name: str) -> Form:
    """Return the form of that name, or refuse the name."""
    if text("form", name) not in FORMS:
        raise unknown_name("form", name, FORMS)
    return FORMS[name]
