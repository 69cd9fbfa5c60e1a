"""``muri-opt generate``: seeded rounds, to a file or the standard output."""

from muri_opt import parse_round, read_round, write_round
from muri_opt.rounds.generate import draw_round
from muri_opt.rounds.generate.any_family import DESCRIPTIONS


def test_every_family_is_listed_and_generated(run):
    _, out, _ = run("generate", "--list")
    for family, what in DESCRIPTIONS.items():
        assert any(line.split(maxsplit=1) == [family, what] for line in out.splitlines())
        code, text, _ = run("generate", family, "--jobs", 5, "--nodes", 2, "--seed", 9)
        assert code == 0
        assert parse_round(text) == draw_round(family, jobs=5, nodes=2, seed=9)


def test_a_file_is_what_the_library_writes(run, tmp_path):
    code, out, _ = run("generate", "gangs", "--jobs", 7, "--output", tmp_path / "a.json")
    write_round(read_round(tmp_path / "a.json"), tmp_path / "b.json")
    assert (code, out) == (0, "")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert run("generate", "gangs", "--jobs", 7)[1].encode() == (tmp_path / "a.json").read_bytes()


def test_bad_arguments(refused):
    assert "'gang' (did you mean 'gangs'?)" in refused("generate", "gang")
    assert "family: found nothing" in refused("generate")
    assert "jobs: found -1" in refused("generate", "gangs", "--jobs", "-1")
    assert "invalid int value: 'many'" in refused("generate", "gangs", "--jobs", "many")
