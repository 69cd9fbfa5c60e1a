"""The command line of one run: what every simulator is asked, and the row that comes out."""

from __future__ import annotations

import argparse
import json
import resource
import shlex
import sys
from pathlib import Path

from examples.common.links import Recording, over_stdio
from examples.common.measures import Measures
from examples.simulators import SIMULATORS, THEIRS


class Run:
    """A simulation with what is measured of it; a subclass has ``run()``, and a ``driver`` where a session decides."""

    def __init__(self, nodes):
        self.measures = Measures(nodes)
        self.driver = self.rounds = None

    def row(self):
        """Return what was measured; of decisions of a session also how many were proved, and the rules they broke.

        The server has ended: what it and the solvers it started have used of the CPU counts to the decisions.
        """
        if self.driver:
            server = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.measures.cpu_seconds += server.ru_utime + server.ru_stime
        row = self.measures.row()
        decisions = max(1, self.driver.decisions) if self.driver else 1
        row["proved"] = self.driver.proved / decisions if self.driver else ""
        row["violations"] = self.measures.over_capacity + (self.driver.violations if self.driver else 0)
        return row


def main(run, name):
    """Run the simulator of a name once, as the command line says.

    ``run`` makes a :class:`Run` of the options and of a link to the server, which is ``None`` for a policy of theirs.
    """
    parser = argparse.ArgumentParser(description=f"One run of the simulator of {name}, as a row of JSON.")
    parser.add_argument("--folder", type=Path, required=True, help="the folder with their code")
    parser.add_argument("--trace", choices=SIMULATORS[name].traces, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--policy", required=True, help="a policy of theirs, or one of muri-opt")
    parser.add_argument("--method", default=THEIRS, help="heuristic, auto or exact: a policy of muri-opt")
    parser.add_argument("--work", type=float, default=0.1, help="units of work for a decision")
    parser.add_argument("--server", default="muri-opt serve --stdio", help="the command that answers messages")
    parser.add_argument("--cache", type=Path, help="a file for what several runs work out alike")
    parser.add_argument("--record", type=Path, help="write the conversation with the server to a file")
    said = parser.parse_args()
    said.limits = {"work": said.work}
    link = None if said.method == THEIRS else over_stdio(shlex.split(said.server))
    if link is not None and said.record:
        link = Recording(link, said.record)
    try:
        made = run(said, link)
        made.run()
    finally:
        if link is not None:
            link.close()
    row = {"simulator": name, "trace": said.trace, "seed": said.seed, "policy": said.policy, "method": said.method}
    sys.stdout.write(json.dumps(dict(row, **made.row())) + "\n")
