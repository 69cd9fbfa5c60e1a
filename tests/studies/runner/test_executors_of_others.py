"""Executors of the standard library's kind: given, or made by a function named on the command line."""

from __future__ import annotations

import sys
from concurrent.futures import Future, ThreadPoolExecutor
from types import ModuleType

import pytest

from muri_opt.errors import InputError
from muri_opt.studies.runner.executors import executor_of
from muri_opt.studies.runner.run_pool import do_runs


@pytest.fixture
def pools(monkeypatch):
    """A module of somebody else."""
    module = ModuleType("pools")
    module.made = []
    module.threads = lambda: module.made.append(ThreadPoolExecutor(1)) or module.made[-1]
    module.number = 3
    monkeypatch.setitem(sys.modules, "pools", module)
    return module


def kept(executor, numbers):
    found = {}
    failed = do_runs(numbers, abs, found.__setitem__, executor, before=0, progress=None)
    executor.close()
    return found, failed


def test_a_given_executor_is_used_and_left_open():
    with ThreadPoolExecutor(2) as threads:
        assert kept(executor_of(threads, jobs=2), [-1, -2, -3]) == ({-1: 1, -2: 2, -3: 3}, [])
        assert threads.submit(abs, -4).result() == 4


def test_one_that_was_made_for_the_study_is_shut_down(pools):
    executor = executor_of("pools:threads", jobs=3)
    assert executor.slots == 3
    assert kept(executor, [-1])[0] == {-1: 1}
    with pytest.raises(RuntimeError, match="shutdown"):
        pools.made[0].submit(abs, -1)


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ("dask", "engine: found 'dask'"),
        ("pools:nobody", "engine: found 'pools:nobody'"),
        ("pools:number", "'pools:number', which gives int; allowed: processes, ray, here, or module:attribute"),
        ("no_such_module:make", "No module named 'no_such_module'"),
    ],
)
def test_what_is_no_executor_is_refused(pools, engine, said):
    with pytest.raises(InputError) as refusal:
        executor_of(engine)
    assert said in str(refusal.value)


def test_an_executor_that_fails_fails_its_run_only():
    class Broken(ThreadPoolExecutor):
        def submit(self, function, number):
            if number != -2:
                return super().submit(function, number)
            future = Future()
            future.set_exception(ConnectionError("the node is gone"))
            return future

    with Broken(1) as broken:
        found, ((number, why),) = kept(executor_of(broken, jobs=1), [-1, -2, -3])
    assert (found, number, why.cause) == ({-1: 1, -3: 3}, -2, "error")
    assert why.message == "ConnectionError: the node is gone"
