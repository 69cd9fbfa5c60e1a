"""Doing runs: all of them, each kept once, failures told, as many at a time as there is room for."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from hypothesis import given, strategies as st

from muri_opt.errors import InputError
from muri_opt.solve.solvers.process import WorkerError
from muri_opt.studies.runner.executors import executor_of
from muri_opt.studies.runner.methods import METHODS, check_method
from muri_opt.studies.runner.run_pool import Failed, do_runs


class Slots:
    """Does calls when they are submitted, and watches that never more are handed out than it has slots."""

    def __init__(self, slots):
        self.slots, self.out, self.most = slots, 0, 0

    def submit(self, function, argument):
        self.out += 1
        self.most = max(self.most, self.out)
        future = Future()
        try:
            future.set_result(function(argument))
        except Exception as error:
            future.set_exception(error)
        return future

    def close(self):
        pass


def run(number):
    return Failed(cause="policy", message=str(number)) if number % 3 == 0 else number * number


@given(st.lists(st.integers(1, 50), unique=True), st.integers(1, 4), st.integers(0, 5))
def test_every_run_is_kept_or_told_as_failed(numbers, slots, before):
    kept, told = {}, []

    def keep(number, found):
        assert number not in kept
        kept[number] = found

    failed = do_runs(numbers, run, keep, Slots(slots), before=before, progress=lambda *both: told.append(both))
    assert kept == {number: number * number for number in numbers if number % 3}
    assert sorted((number, why.message) for number, why in failed) == sorted((n, str(n)) for n in numbers if n % 3 == 0)
    assert told == [(before + k, before + len(numbers)) for k in range(len(numbers) + 1)]


def test_no_more_than_the_slots_are_under_way():
    executor = Slots(2)

    def keep(number, found):
        executor.out -= 1

    assert do_runs([1, 2, 4, 5, 7], run, keep, executor, before=0, progress=None) == []
    assert executor.most == 2


def test_a_process_that_died_is_a_failure_and_bad_input_is_raised():
    def dies(number):
        raise WorkerError("gone", fault=True)

    def refuses(number):
        raise InputError("number", str(number), "another")

    ((number, why),) = do_runs([4], dies, print, executor_of("here"), before=0, progress=None)
    assert (number, why.cause, why.message) == (4, "error", "its process died before it was done")
    with pytest.raises(InputError, match="number: found 4"):
        do_runs([4], refuses, print, executor_of("here"), before=0, progress=None)


def test_methods_are_known_by_name():
    for method in METHODS:
        check_method(method)
    assert {"heuristic", "auto", "exact", "exact@highs", "exact@cp-sat"} <= set(METHODS)
    with pytest.raises(InputError, match=r"method: found 'exact@higs' \(did you mean 'exact@highs'"):
        check_method("exact@higs")
