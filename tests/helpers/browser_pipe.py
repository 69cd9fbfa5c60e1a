"""Chromium driven through its debugging pipe: what a page logs, asks for, and looks like. Needs nothing installed."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import time
from pathlib import Path

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)

OPTIONS = (
    "--headless",
    "--no-sandbox",  # the tests may run as root, which Chromium refuses to put into a sandbox
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # nothing leaves this machine, whatever a page asks for
    "--remote-debugging-pipe",
)
PATIENCE = 120.0
"""Seconds after which a browser that says nothing is taken for dead."""


class Browser:
    """A running Chromium with one page; all it is told and tells are JSON texts that end with a zero byte."""

    def __init__(self, folder: Path) -> None:
        self.errors = folder / "chromium.log"
        ours_in, theirs_out = map(_high, os.pipe())
        theirs_in, ours_out = map(_high, os.pipe())
        command = [CHROMIUM, *OPTIONS, f"--user-data-dir={folder / 'profile'}", "about:blank"]
        log = (os.POSIX_SPAWN_OPEN, 2, str(self.errors), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        pipes = [(os.POSIX_SPAWN_DUP2, theirs_in, 3), (os.POSIX_SPAWN_DUP2, theirs_out, 4)]
        self.process = os.posix_spawn(
            CHROMIUM, command, os.environ | {"HOME": str(folder)}, file_actions=[log, *pipes], setpgroup=0
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.incoming, self.outgoing = ours_in, ours_out
        self.unread, self.sent, self.events = b"", 0, []
        self.session: str | None = None
        self.shown, self.before = "about:blank", "about:blank"
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(f"{domain}.enable")

    def open(self, address: str, *, dark: bool = False, wide: int = 1200) -> None:
        """Show a page and wait until it is there; what it does from now on is in ``events``."""
        self.events.clear()
        self.shown, self.before = address.partition("#")[0], self.shown
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[scheme])
        self.command("Emulation.setDeviceMetricsOverride", width=wide, height=900, deviceScaleFactor=1, mobile=False)
        assert "errorText" not in self.command("Page.navigate", url=address)
        until = time.monotonic() + PATIENCE
        while not self.told("Page.loadEventFired"):
            self._read(until)

    def told(self, method: str) -> list[dict]:
        return [event["params"] for event in self.events if event.get("method") == method]

    def complaints(self) -> list[str]:
        """Return all that the page or the browser wrote to the console, and exceptions of scripts."""
        console = [json.dumps(event["args"]) for event in self.told("Runtime.consoleAPICalled")]
        thrown = [event["exceptionDetails"]["text"] for event in self.told("Runtime.exceptionThrown")]
        return console + thrown + [event["entry"]["text"] for event in self.told("Log.entryAdded")]

    def requests(self) -> list[str]:
        """Return what was asked for since the page was opened, but not what the page before it asked for late."""
        late = self.before if self.before != self.shown else None
        sent = self.told("Network.requestWillBeSent")
        return [event["request"]["url"] for event in sent if event["documentURL"] != late]

    def value(self, expression: str):
        """Return what an expression of JavaScript is worth in the page."""
        found = self.command("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def number(self, selector: str) -> int:
        """Return how many elements of the page a selector finds."""
        return self.value(f"document.querySelectorAll({selector!r}).length")

    def command(self, method: str, **parameters):
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.outgoing, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            for place, event in enumerate(self.events):
                if event.get("id") == self.sent:
                    del self.events[place]
                    assert "error" not in event, event
                    return event["result"]
            self._read(until)

    def close(self) -> None:
        os.close(self.outgoing)
        os.close(self.incoming)
        os.killpg(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)

    def _read(self, until: float) -> None:
        ready, _, _ = select.select([self.incoming], [], [], max(0.0, until - time.monotonic()))
        data = os.read(self.incoming, 1 << 16) if ready else b""
        assert data, f"Chromium said nothing more: {self.errors.read_text()}"
        *whole, self.unread = (self.unread + data).split(b"\0")
        self.events += map(json.loads, whole)


def rgb(colour: str) -> str:
    """Return a colour like ``#ffffff`` as a browser names it."""
    return "rgb({}, {}, {})".format(*(int(colour[at : at + 2], 16) for at in (1, 3, 5)))


def _high(descriptor: int) -> int:
    """Return the descriptor under a number that those Chromium wants cannot clash with."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved
