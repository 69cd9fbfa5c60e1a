"""Run the HTTP server: which address it may have, and how it ends."""

from __future__ import annotations

import ipaddress
import signal
import socket
from typing import Final

import uvicorn

from muri_opt.cli.serve.http_app import Server, Settings
from muri_opt.errors import InputError

MOST_CONNECTIONS: Final = 2_000
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
    uvicorn.Server(config).run(sockets=[listening])


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
