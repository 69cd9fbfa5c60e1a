"""Threads with a time limit: one serves many calls, none serves another one after it was late, a fork has its own."""

import os
import subprocess
import sys
import threading

import pytest

from muri_opt.testing.call_threads import CallThread

FORKED = """
import os, sys
from muri_opt.testing.call_threads import CallThread
assert CallThread.idle().run(lambda: None, 60.0)
child = os.fork()
if not child:
    os._exit(0 if CallThread.idle().run(lambda: None, 60.0) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def who(found):
    return lambda: found.append(threading.get_ident())


def test_a_thread_serves_one_call_after_another():
    found = []
    for _ in range(3):
        assert CallThread.idle().run(who(found), 60.0)
    assert len(found) == 3
    assert len(set(found)) == 1
    assert found[0] != threading.get_ident()


def test_two_calls_at_once_have_a_thread_each():
    found = []
    outer = who(found)
    assert CallThread.idle().run(lambda: (outer(), CallThread.idle().run(who(found), 60.0)), 60.0)
    assert len(set(found)) == 2


@pytest.mark.parametrize("seconds", [0.0, 0.01])
def test_a_thread_that_was_late_ends_and_serves_nobody_again(seconds):
    found, enough = [], threading.Event()
    late = CallThread.idle()
    assert not late.run(lambda: (found.append(threading.current_thread()), enough.wait(60)), seconds)
    again = []
    assert CallThread.idle().run(who(again), 60.0)
    enough.set()
    late._thread.join(60)
    assert not late._thread.is_alive()
    assert again != [late._thread.ident]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_forked_process_starts_threads_of_its_own():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], timeout=120, check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
