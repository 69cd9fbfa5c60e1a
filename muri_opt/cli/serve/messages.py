"""The messages about a round: solve, verify, why, what-if. Each knows how it is answered.

Rounds, results, jobs and nodes are kept as text until they are needed, so that their readers say what is wrong with
them as they do for files.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from msgspec import Raw, field

from muri_opt.cli.serve.problems import TOO_LARGE, RefusedMessage
from muri_opt.errors import InputError, unknown_name
from muri_opt.rounds import Job, Limits, Node, Result, Round, parse_round
from muri_opt.rounds.decode_errors import wrong_value
from muri_opt.systems import DEFAULT_POLICY, POLICIES

if TYPE_CHECKING:
    from muri_opt.cli.serve.service import Service

LEAST_SECONDS: Final = 0.001
"""What is left of a deadline that has passed: a first answer is looked for all the same."""
MOST_DEADLINE: Final = 1e9
"""Seconds."""
Kind = TypeVar("Kind")


class AskedLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits as a message has them; what is left out is as :class:`~muri_opt.Limits` has it."""

    seconds: float | msgspec.UnsetType | None = msgspec.UNSET
    work: float | None = None
    gap: float = 0.0
    threads: int = 1
    seed: int = 0

    def limits(self) -> Limits:
        """Return the limits."""
        rest = Limits(work=self.work, gap=self.gap, threads=self.threads, seed=self.seed)
        return rest if self.seconds is msgspec.UNSET else rest.with_seconds(self.seconds)


class Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do"):
    """What a client asks for; ``id`` comes back with the answer."""

    id: int | str | None = None

    @abstractmethod
    def answer(self, service: Service, received: float) -> Any:
        """Return what JSON is made of; ``received`` is when the message came, by the monotonic clock."""


class Asking(Message, frozen=True, kw_only=True):
    """A round and how it is to be decided. ``deadline_seconds`` count from when the message came."""

    round: Raw
    policy: str = DEFAULT_POLICY
    method: str = "auto"
    limits: AskedLimits = AskedLimits()
    deadline_seconds: float | None = None

    def round_within(self, service: Service) -> Round:
        """Return the round, or refuse one that is larger than the service takes."""
        round_ = parse_round(bytes(self.round))
        if len(round_.jobs) > service.most_jobs:
            raise RefusedMessage(TOO_LARGE, f"{len(round_.jobs):,} jobs; at most {service.most_jobs:,} are taken")
        return round_

    def allowed_policy(self) -> str:
        """Return the policy, which must be one that the server knows: no message says what is imported."""
        return known_policy(self.policy)

    def limits_left(self, received: float) -> Limits:
        """Return the limits, with no more time than is left of the deadline."""
        return limits_left(self.limits.limits(), self.deadline_seconds, received)


class Solve(Asking, frozen=True, kw_only=True, tag="solve"):
    """Decide a round; the answer is a result as ``muri-opt solve --json`` prints it."""

    def answer(self, service: Service, received: float) -> Any:
        """Return the result."""
        from muri_opt.solve.round import solve_round

        round_ = self.round_within(service)
        limits = self.limits_left(received)
        return result_content(solve_round(round_, self.allowed_policy(), self.method, limits), limits)


class Verify(Message, frozen=True, kw_only=True, tag="verify"):
    """Check a result of a round by the rules it names; the answer is a certificate."""

    round: Raw
    result: Raw

    def answer(self, service: Service, received: float) -> Any:
        """Return the certificate."""
        from muri_opt.solve.results import parse_result
        from muri_opt.verify import verify

        round_ = parse_round(bytes(self.round))
        try:
            result = parse_result(bytes(self.result))
        except InputError as error:
            raise error if error.field == "result" else error.inside("result") from None
        return verify(round_, result)


class Why(Asking, frozen=True, kw_only=True, tag="why"):
    """Say why a job waits; with ``when``, when it would start."""

    job: str
    when: bool = False

    def answer(self, service: Service, received: float) -> Any:
        """Return what ``muri-opt why --json`` prints."""
        from muri_opt.replay.what_if.start_times import start_times
        from muri_opt.report.text.what_if import why_content
        from muri_opt.solve.round import solve_round

        round_ = self.round_within(service)
        place = round_.job_index.get(self.job)
        if place is None:
            raise unknown_name("job", self.job, round_.job_index)
        policy = self.allowed_policy()
        result = solve_round(round_, policy, self.method, self.limits_left(received))
        return why_content(round_.jobs[place], result, start_times(round_, policy) if self.when else None)


class WhatIf(Asking, frozen=True, kw_only=True, tag="what-if"):
    """Decide a round as it is and with other nodes, quotas or jobs; nodes to add may be texts as ``2xa100:8``."""

    add_nodes: tuple[Raw, ...] = ()
    remove_nodes: tuple[str, ...] = ()
    quotas: Mapping[str, int | None] = field(default_factory=dict)
    jobs: tuple[Raw, ...] = ()
    release: tuple[str, ...] = ()
    when: bool = False

    def answer(self, service: Service, received: float) -> Any:
        """Return what ``muri-opt what-if --json`` prints."""
        from muri_opt.replay.what_if.what_if import what_if
        from muri_opt.report.text.what_if import what_if_content

        round_ = self.round_within(service)
        return what_if_content(
            what_if(
                round_,
                self.allowed_policy(),
                add_nodes=self._nodes(round_),
                remove_nodes=self.remove_nodes,
                quotas=self.quotas,
                jobs=[read_part(f"jobs[{place}]", text, Job) for place, text in enumerate(self.jobs)],
                release=self.release,
                method=self.method,
                limits=self.limits_left(received),
                when=self.when,
            )
        )

    def _nodes(self, round_: Round) -> list[Node]:
        from muri_opt.replay.what_if.scenario import all_further_nodes

        said = list[str | Node]()
        for place, text in enumerate(self.add_nodes):
            kind: Any = Node if bytes(text).lstrip().startswith(b"{") else str | Node
            said.append(read_part(f"add_nodes[{place}]", text, kind))
        return all_further_nodes(said, round_.cluster)


def known_policy(text: str) -> str:
    """Return the text of a policy, if it begins with a name that is registered here."""
    name = text.partition(":")[0]
    if name not in POLICIES:
        raise unknown_name("policy", name, POLICIES)
    return text


def limits_left(limits: Limits, deadline: float | None, received: float) -> Limits:
    """Return limits with no more time than is left until a deadline, counted from when a message was received."""
    if deadline is None:
        return limits
    if not 0 <= deadline <= MOST_DEADLINE:
        raise InputError("deadline_seconds", str(deadline), "a number from 0 to 1,000,000,000")
    left = max(LEAST_SECONDS, deadline - (time.monotonic() - received))
    return limits.with_seconds(left if limits.seconds is None else min(left, limits.seconds))


def read_part(name: str, text: Raw, kind: type[Kind] | Any) -> Kind:
    """Return a part of a message as what it is to be; what is wrong with it is told with its place."""
    try:
        found: Kind = msgspec.json.decode(text, type=kind)
        return found
    except InputError as error:
        raise error.inside(name) from None
    except msgspec.ValidationError as error:
        raise wrong_value(error, text, kind, at=name) from None
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InputError(name, str(error), "as in a round file") from None


def result_content(result: Result, limits: Limits) -> dict[str, Any]:
    """Return a result as JSON has it.

    With a limit of work and none of time it has no seconds either, so that the same call gives the same bytes.
    """
    content: dict[str, Any] = msgspec.to_builtins(result)
    for name in ("claimed_bound", "changes"):
        if content[name] is None:
            del content[name]
    if limits.work is not None and limits.seconds is None:
        stats = content["stats"]
        content["stats"] = {name: 0.0 if name.endswith("_seconds") else stats[name] for name in stats}
    return content
