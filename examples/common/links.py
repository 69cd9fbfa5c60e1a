"""Ways to ask: a server of one's own over the standard streams, this process, or a conversation that was recorded.

Each has ``ask(do, **fields)`` of the messages in docs/serve.md, as the client in ``clients/python`` has it.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _client_file():
    """Return the single-file client of this project, which is in no package."""
    spec = importlib.util.spec_from_file_location("muri_opt_client", ROOT / "clients" / "python" / "muri_opt_client.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CLIENT = _client_file()
Refused = CLIENT.Refused


def over_stdio(command):
    """Return a link to a server that ``command`` starts, such as ``["muri-opt", "serve", "--stdio"]``."""
    return CLIENT.StdioClient(list(command))


class InProcess:
    """Asks in this process, which must be a Python that muri-opt runs in."""

    def __init__(self):
        from muri_opt.cli.serve.service import Service

        self._service = Service()

    def ask(self, do, **fields):
        """Return the answer to a message."""
        reply = json.loads(self._service.reply(json.dumps(dict(fields, do=do)).encode()))
        if "problem" in reply:
            raise Refused(reply["problem"])
        return reply["answer"]

    def close(self):
        """Close every session."""
        self._service.close_all()


class Recording:
    """Asks by another link, and writes every message with its answer as a line of a file."""

    def __init__(self, link, path):
        self._link, self._path = link, Path(path)
        self._path.write_text("", encoding="utf-8")

    def ask(self, do, **fields):
        """Return the answer to a message."""
        answer = self._link.ask(do, **fields)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"do": do, "fields": fields, "answer": answer}) + "\n")
        return answer

    def close(self):
        """End the link."""
        self._link.close()


class Recorded:
    """Answers as it was answered before; a message that was not asked then, at this place, is an error."""

    def __init__(self, path):
        self.lines = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
        self._place = 0

    def ask(self, do, **fields):
        """Return the recorded answer to the message, which must be the recorded one."""
        said = {"do": do, "fields": json.loads(json.dumps(fields))}
        line = self.lines[self._place]
        if said != {"do": line["do"], "fields": line["fields"]}:
            raise AssertionError(f"line {self._place + 1} of the conversation is {line}, not {said}")
        self._place += 1
        return line["answer"]

    @property
    def ended(self):
        """Whether all of the conversation was asked."""
        return self._place == len(self.lines)

    def close(self):
        """Do nothing."""
