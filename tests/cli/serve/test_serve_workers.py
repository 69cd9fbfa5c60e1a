"""Workers of the server over HTTP."""

from __future__ import annotations

import asyncio

import pytest

from muri_opt.cli.serve.http_app import _turn
from muri_opt.cli.serve.problems import RefusedMessage
from muri_opt.cli.serve.workers import Worker


def test_a_worker_that_is_being_started_has_done_nothing_with_a_message() -> None:
    with pytest.raises(RefusedMessage, match="the worker is being started; ask again") as refused:
        asyncio.run(_turn(Worker(), b"{}", None))
    assert refused.value.status == 503
