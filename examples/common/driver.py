"""A session as a simulator needs it: say which jobs there are, and get what runs where."""

from __future__ import annotations

from collections import namedtuple

PROGRESS = ("remaining_iterations", "iteration_seconds", "attained_gpu_seconds", "executed_seconds", "restarts")
"""Fields that change from round to round and are told as progress."""
RUNS = ("start", "keep", "move", "resize", "regroup")
"""The kinds of changes after which a job runs; partners of one that is kept may have ended."""

Placed = namedtuple("Placed", ["nodes", "plan", "partners"])
"""Where a job runs: GPUs by node, the name of its plan or ``None``, and who shares its GPUs."""


class Driver:
    """Keeps a session in step with a simulator: one call a round, with all jobs there are.

    ``nodes`` and jobs are dicts as in round files (docs/round-format.md). ``limits`` are those of a message, such as
    ``{"work": 0.3}``: the same decisions on a slow machine and on a fast one. ``said`` are further fields of
    ``session/open``.
    """

    def __init__(self, link, nodes, policy, method="auto", limits=None, session="main", **said):
        self._link, self._session = link, session
        self._known, self.placed = {}, {}
        self.decisions = self.proved = self.violations = 0
        limits = {} if limits is None else {"limits": limits}
        self._ask("open", cluster={"nodes": nodes}, policy=policy, method=method, **limits, **said)

    def decide(self, now, jobs):
        """Return where each job runs from ``now`` on, by id; jobs that are no more among ``jobs`` have ended."""
        told = {job["id"]: job for job in jobs}
        for name in [name for name in self._known if name not in told]:
            self._ask("finish" if name in self.placed else "cancel", job=name)
            self._forget(name)
        fixed = {name: {key: job[key] for key in job if key not in PROGRESS} for name, job in told.items()}
        changed = [name for name in fixed if name in self._known and fixed[name] != self._known[name]]
        for name in changed:
            self._ask("cancel", job=name)
        new = [name for name in fixed if name in changed or name not in self._known]
        if new:
            self._ask("submit", jobs=[self._as_it_runs(told[name]) for name in new])
        self._tell_progress([job for name, job in told.items() if name not in new])
        self._known = fixed
        return self._step(now)

    def _as_it_runs(self, job):
        """Return a job with the place that it has, for one whose plans or speeds are not what they were."""
        at = self.placed.get(job["id"])
        if at is None:
            return job
        return dict(job, state="running", placement=at.nodes, **({} if at.plan is None else {"plan": at.plan}))

    def _tell_progress(self, jobs):
        fields = [field for field in PROGRESS if jobs and field in jobs[0]]
        if fields:
            columns = {field: [job[field] for job in jobs] for field in fields}
            self._ask("progress", jobs=[job["id"] for job in jobs], columns=columns)

    def _step(self, now):
        answer = self._ask("decide", now=now)
        result, changes = answer["result"], answer["changes"]
        self.decisions += 1
        self.violations += len(result["certificate"]["violations"])
        self.proved += result["termination"]["reason"] == "OPTIMAL"
        self.placed = {
            change["job"]: Placed(dict(change["after"]), change.get("plan"), tuple(change.get("partners", ())))
            for kind in RUNS
            for change in changes.get(kind, ())
        }
        self._ask("acknowledge", step=answer["step"])
        return dict(self.placed)

    def _forget(self, name):
        del self._known[name]
        self.placed.pop(name, None)

    def _ask(self, do, **fields):
        return self._link.ask("session/" + do, session=self._session, **fields)
