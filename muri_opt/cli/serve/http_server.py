"""Run the HTTP server: which address it may have, and how it ends."""

from __future__ import annotations

import ipaddress
import signal
import socket
import time
from typing import Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from muri_opt.cli.serve.http_app import Server, Settings
from muri_opt.errors import InputError

MOST_CONNECTIONS: Final = 2_000
SILENT_SECONDS: Final = 30.0
"""How long a connection may be open without a whole head of a request; slow clients must not fill the server."""
DRAIN_SECONDS: Final = 60
"""How long what is being answered may take after the server was asked to end."""


def serve_http(host: str, port: int, settings: Settings) -> None:
    """Serve until a signal to end; then nothing new is taken, and what was taken is answered."""
    check_address(host, settings.token)
    config = uvicorn.Config(
        Server(settings).app(),
        host=host,
        port=port,
        http="h11",
        ws="none",
        lifespan="on",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        log_level="warning",
    )
    listening = _listen(host, port)
    print(f"serving on http://{host}:{listening.getsockname()[1]}", flush=True)
    # uvicorn raises the signal that ended it once more when all is answered: then it must not end the process by force.
    signal.signal(signal.SIGTERM, lambda *_: None)
    _Server(config).run(sockets=[listening])


class _Server(uvicorn.Server):
    """A server that closes connections which ask for nothing."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._silent_since: dict[H11Protocol, float] = {}

    async def on_tick(self, counter: int) -> bool:
        """Look at the connections, about once a second."""
        if counter % 10 == 0:
            self._close_silent(time.monotonic())
        return await super().on_tick(counter)

    def _close_silent(self, now: float) -> None:
        connections = [one for one in self.server_state.connections if isinstance(one, H11Protocol)]
        silent = [one for one in connections if one.cycle is None or one.cycle.response_complete]
        self._silent_since = {one: self._silent_since.get(one, now) for one in silent}
        for one, since in self._silent_since.items():
            if now - since > SILENT_SECONDS:
                one.transport.close()


def check_address(host: str, token: str | None) -> None:
    """Refuse an address that others reach without a token that they need."""
    try:
        own = ipaddress.ip_address(host).is_loopback
    except ValueError:
        own = host == "localhost"
    if not own and not token:
        allowed = "an address of the own machine, such as 127.0.0.1, or a token that clients have to send"
        raise InputError("--host", f"{host!r} without a token", f"{allowed} (--token-file)")


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(MOST_CONNECTIONS)
    except OSError as error:
        listening.close()
        raise InputError("--http", f"{host}:{port} ({error.strerror})", "an address and a port that are free") from None
    return listening
