"""What is written is read: every format gives back the jobs it was written from, and a cut file is refused."""

import pytest
from hypothesis import given, strategies as st
from trace_writers import flat_jobs, flat_of, helios_of, kept_jobs, openb_of, philly_of

from muri_opt.errors import InputError
from muri_opt.replay.traces import EXAMPLES, FORMATS, parse_trace

ENDED = ("passed", "killed", "failed")


@given(kept_jobs(ENDED, placed=True))
def test_philly(jobs):
    trace = parse_trace(philly_of(jobs))
    assert (trace.format, trace.jobs) == ("philly", tuple(jobs))
    assert (trace.report.rows, trace.report.kept, trace.report.left_out) == (len(jobs), len(jobs), ())


@given(flat_jobs())
def test_flattened(jobs):
    trace = parse_trace(flat_of(jobs))
    assert (trace.format, trace.jobs) == ("philly-csv", tuple(jobs))


@given(kept_jobs(("passed", "failed", "unknown"), most=1, tenants=False, users=False, amounts=("cpus", "memory")))
def test_openb(jobs):
    trace = parse_trace(openb_of(jobs))
    assert (trace.format, trace.epoch, trace.jobs) == ("openb", None, tuple(jobs))


@given(kept_jobs(ENDED, most=1, amounts=("cpus",)))
def test_helios(jobs):
    trace = parse_trace(helios_of(jobs))
    assert (trace.format, trace.jobs) == ("helios", tuple(jobs))
    assert trace.report.noted == ()


@given(kept_jobs(ENDED, placed=True), st.randoms(use_true_random=False))
def test_the_order_of_the_file_does_not_matter(jobs, random):
    mixed = random.sample(jobs, len(jobs))
    read = parse_trace(philly_of(mixed)).jobs
    assert [job.submitted for job in read] == [job.submitted for job in jobs]
    assert sorted(read, key=lambda job: job.id) == sorted(jobs, key=lambda job: job.id)


@pytest.mark.parametrize("blank", ["", "\n", " \t\r\n"])
def test_a_log_cut_anywhere_is_refused(blank):
    text = blank + EXAMPLES["philly"].rstrip()
    for length in range(len(text)):
        with pytest.raises(InputError):
            parse_trace(text[:length])
    assert len(parse_trace(text).jobs) == 6


@given(st.sampled_from(sorted(FORMATS)), st.data())
def test_a_damaged_file_is_read_or_refused(name, data):
    text = EXAMPLES[name]
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 8))
    damaged = text[:start] + data.draw(st.text(max_size=6)) + text[start + length :]
    try:
        trace = parse_trace(damaged, name)
    except InputError as error:  # any other exception fails the test
        refused = error
    else:
        refused = None
        assert trace.report.kept == len(trace.jobs)
        assert trace.report.rows == trace.report.kept + sum(found.count for found in trace.report.left_out)
    assert refused is None or (refused.field and refused.allowed)
