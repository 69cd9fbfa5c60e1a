"""``muri-opt library challenge``: somebody's answers, verified and held against the best that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from muri_opt.cli.output import ExitCode, Reply
from muri_opt.cli.progress import Bar
from muri_opt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muri_opt.studies.library import Instance
    from muri_opt.studies.library.challenge import Judged, Standing

_SHOWN_FAULTS = 3


def challenge(found: Sequence[Instance], contestants: Sequence[str], *, json: bool) -> Reply:
    """Judge the answers in files and folders, each of them a contestant."""
    from muri_opt.studies.library.answers import by_round, read_answers
    from muri_opt.studies.library.challenge import Verdict, judge, standings

    if not contestants:
        raise InputError("answers", "nothing", "files with results, or folders of them: one for each contestant")
    known = by_round(tuple(found))
    answers = [(name, answer) for name in contestants for answer in read_answers(name)]
    judged: list[Judged] = []
    with Bar("answers") as bar:
        for over, (name, answer) in enumerate(answers):
            bar(over, len(answers))
            judged.append(judge(name, answer, known))
    ranked = standings(judged)
    code = ExitCode.VIOLATION if any(one.verdict is Verdict.REFUSED for one in judged) else ExitCode.ANSWER
    return Reply(_json(judged, ranked) if json else _text(judged, ranked), code)


def _text(judged: Sequence[Judged], ranked: Sequence[Standing]) -> str:
    from muri_opt.report.tables import table

    several = len(ranked) > 1
    head = ["round", "policy", "value", "best known", "bound", "verdict", "to the best", "to the bound"]
    rows = [_row(one) for one in judged]
    if several:
        head.insert(0, "contestant")
        rows = [[one.contestant, *row] for one, row in zip(judged, rows, strict=True)]
    right = [place + several for place in (2, 3, 4, 6, 7)]
    lines = table(head, rows, right=right)
    for one in judged:
        lines += _faults(one)
    lines += [_proved_text(one) for one in judged if one.bound is not None]
    return "\n".join([*lines, "", *_standing_lines(ranked)]) + "\n"


def _row(one: Judged) -> list[str]:
    from muri_opt.rounds.percent import percent

    values = (one.value, one.known.value, one.known.bound)
    return [
        one.instance,
        one.policy,
        *("-" if value is None else f"{value:,}" for value in values),
        one.verdict.value,
        percent(one.to_best, "-"),
        percent(one.to_bound, "-"),
    ]


def _faults(one: Judged) -> list[str]:
    """Return why an answer is refused, in a few lines."""
    if not one.violations:
        return []
    lines = ["", f"{one.file} is refused:"]
    lines += [f"  {fault.rule} ({fault.where}): {fault.detail}" for fault in one.violations[:_SHOWN_FAULTS]]
    rest = len(one.violations) - _SHOWN_FAULTS
    return [*lines, f"  ... and {rest:,} more"] if rest > 0 else lines


def _proved_text(one: Judged) -> str:
    before = "none" if one.known.bound is None else f"{one.known.bound:,}"
    return f"\n{one.file} proves a better bound: {one.bound:,} ({one.proof}); known is {before}"


def _standing_lines(ranked: Sequence[Standing]) -> list[str]:
    from muri_opt.report.format import count
    from muri_opt.report.tables import table

    if len(ranked) == 1:
        (only,) = ranked
        kinds = [f"{number:,} {verdict.value}" for verdict, number in only.counts.items() if number]
        return [f"{count(sum(only.counts.values()), 'answer')}: {', '.join(kinds)}; score {100 * only.score:.2f}"]
    kinds = [verdict.value for verdict in ranked[0].counts]
    rows = [
        [
            str(place + 1),
            one.contestant,
            f"{100 * one.score:.2f}",
            *(f"{number:,}" for number in one.counts.values()),
            f"{one.missing:,}",
        ]
        for place, one in enumerate(ranked)
    ]
    return table(["rank", "contestant", "score", *kinds, "missing"], rows, right=(0, *range(2, 9)))


def _json(judged: Sequence[Judged], ranked: Sequence[Standing]) -> str:
    import msgspec

    answers = [
        {
            "contestant": one.contestant,
            "file": one.file,
            "instance": one.instance,
            "policy": one.policy,
            "verdict": one.verdict,
            "value": one.value,
            "best_value": one.known.value,
            "best_bound": one.known.bound,
            "gap_to_best": one.to_best,
            "gap_to_bound": one.to_bound,
            "better_bound": one.bound,
            "proof": one.proof,
            "violations": one.violations,
        }
        for one in judged
    ]
    ranking = [
        {
            "contestant": one.contestant,
            "score": one.score,
            **{verdict.value: number for verdict, number in one.counts.items()},
            "missing": one.missing,
        }
        for one in ranked
    ]
    content = msgspec.json.encode({"answers": answers, "ranking": ranking})
    return msgspec.json.format(content, indent=1).decode() + "\n"
