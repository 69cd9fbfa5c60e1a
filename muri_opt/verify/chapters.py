"""The chapters by name; one is imported when rules name it.

Another package adds chapters by entry points of the group ``muri_opt.chapters``, each named as rules name it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds import Round
from muri_opt.rounds.field_groups import STATES
from muri_opt.rounds.memoise import recalled
from muri_opt.rounds.plugins import added
from muri_opt.rounds.used_fields import refusal, unhonoured
from muri_opt.verify.chapter import Chapter
from muri_opt.verify.set_apart import RestChapter
from muri_opt.verify.settings import Rules

_PLACES: Final = {
    "gangs": "muri_opt.verify.gangs.chapter:GangChapter",
    "grouping": "muri_opt.verify.muri.chapter:GroupChapter",
    "sharing": "muri_opt.verify.afs.chapter:ShareChapter",
    "planning": "muri_opt.verify.plans.chapter:PlanChapter",
    "configuration": "muri_opt.verify.plans.chapter:ConfigurationChapter",
    "placement": "muri_opt.verify.philly.chapter:PlacementChapter",
    "deadline": "muri_opt.verify.deadline.chapter:DeadlineChapter",
    "joint": "muri_opt.verify.joint.chapter:JointChapter",
}
ENTRY_POINTS: Final = "muri_opt.chapters"
_added: dict[str, type[Chapter]] = {}


def register_chapter(name: str, chapter: type[Chapter]) -> None:
    """Let rules name a chapter that is not one of the package's, in this process."""
    if name in _PLACES or _added.get(name, chapter) is not chapter:
        raise InputError("chapter", repr(name), "the name of no other chapter")
    _added[name] = chapter


def chapter_kind(name: str) -> type[Chapter]:
    """Return the chapter of a name, or refuse it."""
    if name not in _PLACES and name not in _added:
        for chapter in added(ENTRY_POINTS, name):
            register_chapter(name, chapter)
    if name in _added:
        return _added[name]
    if name not in _PLACES:
        raise unknown_name("chapter", name, [*_PLACES, *_added])
    module, _, attribute = _PLACES[name].partition(":")
    kind: type[Chapter] = getattr(import_module(module), attribute)
    return kind


def chapter_of(round_: Round, rules: Rules) -> Chapter:
    """Return the chapter that rules name, of one round."""
    if "chapter" not in rules:
        raise InputError("rules", "no chapter", "the chapter and settings by which a result is to be checked")
    return _chapter(round_, tuple(sorted(rules.items())))


@recalled
def _chapter(round_: Round, said: tuple[tuple[str, str], ...]) -> Chapter:
    rules = dict(said)
    kind = chapter_kind(rules["chapter"])
    field = unhonoured(round_.used_fields, kind.honoured(rules))
    if field is not None:
        able = [f"chapter {name!r}" for name in (*_PLACES, *_added) if field in chapter_kind(name).honours]
        raise refusal(round_.used_fields, field, f"the chapter {rules['chapter']!r} of rules", able)
    chapter = kind.of(round_, rules)
    apart = kind.sets_apart and not STATES.isdisjoint(round_.used_fields)
    return RestChapter(chapter) if apart else chapter
