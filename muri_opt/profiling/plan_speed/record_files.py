"""Objects of a file, made from plain mappings with one clear error."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, TypeVar

from muri_opt.errors import InputError, unknown_name
from muri_opt.profiling.plan_speed.execution import ExecutionPlan
from muri_opt.rounds.field_checks import pairs

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def record(kind: type[T], values: Any) -> T:
    """Return an object of the dataclass ``kind`` from a mapping of its fields."""
    given = dict(pairs(kind.__name__.lower(), values))
    known = [field.name for field in fields(kind)]
    check_keys(given, known, (field.name for field in fields(kind) if field.default is MISSING))
    return kind(**given)


def planned(kind: type[T], values: Any) -> T:
    """Return an object of a dataclass that has a plan, from one mapping with the fields of both."""
    given = dict(pairs(kind.__name__.lower(), values))
    of_plan = [field.name for field in fields(ExecutionPlan)]
    own = [field for field in fields(kind) if field.name != "plan"]
    required = ["gpus", *(field.name for field in own if field.default is MISSING)]
    check_keys(given, [*of_plan, *(field.name for field in own)], required)
    plan = ExecutionPlan(**{name: value for name, value in given.items() if name in of_plan})
    values = {name: value for name, value in given.items() if name not in of_plan}
    return kind(**{"plan": plan, **values})


def check_keys(given: Mapping[str, Any], known: Collection[str], required: Iterable[str]) -> None:
    """Refuse fields nobody knows and fields that are missing."""
    for name in given:
        if name not in known:
            raise unknown_name("field", name, known)
    for name in required:
        if name not in given:
            raise InputError(name, "nothing", "a value; this field is required")
