"""A client of ``muri-opt serve`` in one file: standard library only, Python 3.8 or newer.

Copy it beside your scheduler. Over HTTP::

    client = HttpClient("http://127.0.0.1:8080", token="...")
    result = client.ask("solve", round=round_, policy="srtf", deadline_seconds=1.0)

or with a server of its own, over the standard streams (``command`` may name another Python)::

    with StdioClient(["muri-opt", "serve", "--stdio", "--journals", "state/"]) as client:
        client.ask("session/open", cluster=cluster, policy="srtf")

What the server refuses is raised as ``Refused``, with its status, field, found and allowed. A server that has no free
slot (429), or is being started (503), is asked again after the time it names, until the deadline of the call. It has
done nothing with such a message. One that died of it (502) is asked again only what may be asked twice: an event, such
as ``session/submit``, may be in the journal already. After a 502, or a connection that was lost (``OSError``),
``session/state`` says whether it is.
"""

import contextlib
import http.client
import json
import subprocess
import threading
import time
import urllib.parse

AGAIN = (429, 503)  # nothing was done with the message
DIED = 502
TWICE = ("solve", "verify", "why", "what-if", "session/open", "session/decide", "session/state")  # the same if repeated
PATIENCE = 10.0  # seconds after its deadline until an answer is no longer waited for: the server stops it before


class Refused(Exception):
    """A problem that the server has named."""

    def __init__(self, problem):
        super().__init__(problem.get("detail", ""))
        self.problem = problem
        self.status = problem.get("status", 500)
        self.field = problem.get("field")
        self.found = problem.get("found")
        self.allowed = problem.get("allowed")


class HttpClient:
    """Asks a server over HTTP; a connection for each call, so that threads may share a client."""

    def __init__(self, address, token=None, timeout=60.0):
        parts = urllib.parse.urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError("address: found {!r}; allowed: as http://127.0.0.1:8080".format(address))
        self._path = parts.path.rstrip("/") + "/v1/"  # behind a proxy there may be a path before
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._host, self._timeout = parts.netloc, timeout
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = "Bearer " + token.strip()

    def ask(self, do, **fields):
        """Return the answer to a message; ``deadline_seconds`` also ends asking again."""
        deadline = fields.get("deadline_seconds")
        if deadline is not None and not isinstance(deadline, (int, float)):
            raise TypeError("deadline_seconds: a number of seconds, or None")
        ends = time.monotonic() + (self._timeout if deadline is None else deadline)
        while True:
            status, again, answer = self._once(do, fields, ends)
            if status == 200:
                return answer
            if not (status in AGAIN or (status == DIED and do in TWICE)) or time.monotonic() + again >= ends:
                raise Refused(answer)
            time.sleep(again)

    def _once(self, do, fields, ends):
        timeout = self._timeout
        if fields.get("deadline_seconds") is not None:
            left = max(0.0, ends - time.monotonic())
            fields = dict(fields, deadline_seconds=left)
            timeout = max(timeout, left + PATIENCE)
        connection = self._kind(self._host, timeout=timeout)
        try:
            connection.request("POST", self._path + do, json.dumps(fields).encode(), self._headers)
            reply = connection.getresponse()
            text = reply.read()
        finally:
            connection.close()
        return reply.status, _seconds(reply.headers.get("Retry-After")), _told(reply.status, text)


def _seconds(text):
    """Return the seconds of Retry-After, which a proxy may leave out or write as a date."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return 1.0


def _told(status, text):
    """Return what a reply says; one that is no JSON comes from something else than the server, such as a proxy."""
    try:
        told = json.loads(text.decode())
    except ValueError:
        told = None
    if told is None or (status != 200 and not isinstance(told, dict)):
        found = text[:200].decode(errors="replace")
        raise Refused({"status": status, "detail": "no answer of a server of muri-opt: " + found})
    return told


class StdioClient:
    """Asks a server that it starts, one message at a time; threads may share a client."""

    def __init__(self, command):
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._turn = threading.Lock()

    def ask(self, do, **fields):
        """Return the answer to a message."""
        message = json.dumps(dict(fields, do=do)).encode() + b"\n"
        with self._turn:
            try:
                self._process.stdin.write(message)
                self._process.stdin.flush()
                line = self._process.stdout.readline()
            except BrokenPipeError:
                line = b""
        if not line:
            raise Refused({"status": 502, "detail": "the server has ended"})
        reply = json.loads(line.decode())
        if "problem" in reply:
            raise Refused(reply["problem"])
        return reply["answer"]

    def close(self):
        """End the server."""
        with contextlib.suppress(BrokenPipeError):  # where it has ended already
            self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
