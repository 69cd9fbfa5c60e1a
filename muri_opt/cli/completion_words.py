"""What can be typed behind ``muri-opt``, read off the parser: commands, steps, options and their values."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option: its flag, its help, and the values it takes: ``None`` for a switch, nothing for a file or number."""

    flag: str
    help: str
    values: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A command, or a step of one (``slurm why``): its summary, options, and words that may stand without a flag."""

    name: str
    summary: str
    options: tuple[Option, ...]
    words: tuple[str, ...]


def all_words(parser: argparse.ArgumentParser) -> tuple[Words, ...]:
    """Return the words of every command, and behind each those of its steps."""
    found: list[Words] = []
    known = _known_values()
    for name, child in _children(parser).items():
        steps = _children(child)
        found.append(_words_of(name, child, known, tuple(steps)))
        found += [_words_of(f"{name} {step}", inner, known, ()) for step, inner in steps.items()]
    return tuple(found)


def _words_of(
    name: str, parser: argparse.ArgumentParser, known: Mapping[str, tuple[str, ...]], steps: tuple[str, ...]
) -> Words:
    options, words = list[Option](), list(steps)
    for action in _actions(parser):
        values = _values(name, action, known)
        if not action.option_strings:
            words += values
            continue
        taken = None if action.nargs == 0 else values
        options.append(Option(flag=action.option_strings[-1], help=_help_of(action), values=taken))
    return Words(name=name, summary=parser.description or "", options=tuple(options), words=tuple(words))


def _values(command: str, action: argparse.Action, known: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return what an option or argument may be, where that is a list."""
    if action.choices is not None and action.nargs != argparse.PARSER:
        return tuple(map(str, action.choices))
    return known.get(f"{command} {action.dest}", known.get(action.dest, ()))


def _known_values() -> Mapping[str, tuple[str, ...]]:
    """Return values by the name of an argument, or by command and argument where others call theirs the same."""
    from muri_opt.cli.completion import SCRIPTS
    from muri_opt.cli.examples import EXAMPLES
    from muri_opt.cli.library import ACTIONS
    from muri_opt.rounds.generate.any_family import DESCRIPTIONS
    from muri_opt.rounds.generate.families import FAMILIES as GENERATED
    from muri_opt.studies.library import FAMILIES, shipped_rounds
    from muri_opt.studies.runner.executors import ENGINES
    from muri_opt.studies.runner.methods import METHODS
    from muri_opt.systems import POLICIES

    return {
        "policy": tuple(POLICIES),
        "policies": tuple(POLICIES),
        "method": METHODS,
        "methods": METHODS,
        "engine": tuple(ENGINES),
        "round": tuple(shipped_rounds()),
        "generate family": tuple(DESCRIPTIONS),
        "worst-case family": tuple(GENERATED),
        "library family": tuple(FAMILIES),
        "library action": ACTIONS,
        "examples topic": tuple(EXAMPLES),
        "completion shell": tuple(SCRIPTS),
    }


def _children(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """Return the parsers of the commands, or of the steps of a command."""
    for action in _actions(parser):
        if action.nargs == argparse.PARSER and isinstance(action.choices, Mapping):
            return action.choices
    return {}


def _actions(parser: argparse.ArgumentParser) -> Iterable[argparse.Action]:
    return parser._actions  # noqa: SLF001 - argparse has no other way to ask for them


def _help_of(action: argparse.Action) -> str:
    """Return the help of an option in one line, without what argparse fills in."""
    return " ".join((action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%").split())
