"""Rounds without fields that a policy does not honour: nothing else is lost, and it is told how many had said them."""

import pytest
from rounds_by_field import ROUNDS

from muri_opt import InputError, read_round, solve_round, write_round
from muri_opt.rounds import without_fields
from muri_opt.rounds.used_fields import FIELDS


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_is_gone_and_nothing_else(field):
    round_ = ROUNDS[field]
    refers = {"cluster.levels": ["job.within"]}.get(field, [])
    plain, lost = without_fields(round_, [field, *refers])
    assert lost[field] > 0
    assert set(plain.used_fields) == set(round_.used_fields) - {field, *refers}
    again, nothing = without_fields(plain, [field])
    assert (again, nothing) == (plain, {field: 0})
    kept, _ = without_fields(round_, [other for other in FIELDS if other not in round_.used_fields])
    assert kept == round_


def test_a_round_without_all_of_them_is_of_format_1():
    for field, round_ in ROUNDS.items():
        assert without_fields(round_, FIELDS)[0].format == "muri-opt/round/1", field


def test_what_is_no_field_is_refused_with_the_nearest():
    with pytest.raises(InputError, match=r"did you mean 'job\.within'"):
        without_fields(ROUNDS["job.within"], ["job.withn"])


def test_the_refusal_names_the_command_and_the_command_does_it(run, refused, tmp_path):
    queue, plain = tmp_path / "queue.json", tmp_path / "plain.json"
    write_round(ROUNDS["round.together"], queue)
    said = refused("solve", queue, "--policy", "fifo")
    assert "(muri-opt convert --without round.together)" in said
    code, out, _ = run("convert", queue, plain, "--without", "round.together")
    assert (code, out.splitlines()[1]) == (0, "without round.together (1 said it)")
    assert solve_round(read_round(plain), "fifo").certificate.feasible
    assert "field: found 'nonsense'" in refused("convert", queue, tmp_path / "no.json", "--without", "nonsense")
    assert not (tmp_path / "no.json").exists()
