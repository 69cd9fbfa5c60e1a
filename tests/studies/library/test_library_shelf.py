"""What is in the library, how it is found, and what is refused in its files."""

import json
from dataclasses import replace

import msgspec
import pytest
from library_copies import best_data, copied, only, write_data
from shipped_library import ALL

from muri_opt import POLICIES, InputError, read_round
from muri_opt.rounds import Round
from muri_opt.studies.library import (
    FAMILIES,
    Recipe,
    instances,
    library_folder,
    load_round,
    read_best,
    readme_text,
    shipped_rounds,
    write_best,
)
from muri_opt.studies.library.best import PLAIN_BYTES, best_path, save_best
from muri_opt.studies.library.table import gap_text

MOST_BYTES = 4_000_000
MOST_FILE = 200_000


def test_every_family_is_there_and_small_has_at_least_sixty_rounds():
    assert {instance.family for instance in ALL} == set(FAMILIES)
    assert sum(instance.family == "small" for instance in ALL) >= 60
    assert all((library_folder() / f"{instance.name}.json") == instance.path for instance in ALL)


def test_every_policy_has_small_rounds_with_a_proved_optimum():
    proved = {one.policy.partition(":")[0] for x in ALL if x.family == "small" for one in x.best.optima if one.proved}
    assert proved == set(POLICIES)
    assert all(one.proved for x in ALL if x.family in ("toy", "small", "paper") for one in x.best.optima)


def test_the_library_stays_small_and_large_rounds_are_recipes():
    files = [path for path in library_folder().rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MOST_BYTES
    assert max(path.stat().st_size for path in files) < MOST_FILE
    assert any(isinstance(instance.given, Recipe) for instance in ALL if instance.family == "stress")


def test_sixty_rounds_and_more_are_of_public_traces_and_peers_tests_and_series_grow_to_ten_thousand_jobs():
    assert sum(instance.family in ("peers", "traces", "paper") for instance in ALL) >= 60
    series = {}
    for instance in ALL:
        if instance.family == "traces":
            series.setdefault(instance.name.rpartition("-")[0], []).append(instance.jobs)
            assert all(one.bound is not None for one in instance.best.optima)
            assert isinstance(instance.given, Recipe)
    assert len(series) == 8
    assert set(map(tuple, series.values())) == {(10, 30, 100, 300, 1000, 3000, 10_000)}


def test_large_files_of_optima_are_compressed_and_small_ones_are_not(tmp_path, monkeypatch):
    assert {best_path(x.path).suffix for x in ALL} == {".json", ".gz"}
    copied(tmp_path, "toy/two-gangs")
    instance = only(tmp_path)
    monkeypatch.setattr("muri_opt.studies.library.best.PLAIN_BYTES", 10)
    save_best(instance.best, instance.path)
    (written,) = (path for path in instance.path.parent.iterdir() if ".best." in path.name)
    assert written.name == "two-gangs.best.json.gz"
    before = written.read_bytes()
    assert only(tmp_path).best == instance.best
    save_best(instance.best, instance.path)
    assert written.read_bytes() == before
    monkeypatch.setattr("muri_opt.studies.library.best.PLAIN_BYTES", PLAIN_BYTES)
    save_best(instance.best, instance.path)
    assert {path.name for path in instance.path.parent.iterdir()} == {"two-gangs.json", "two-gangs.best.json"}


@pytest.mark.parametrize("content", [b"nothing compressed", b"\x1f\x8b\x08", b""])
def test_a_compressed_file_that_cannot_be_read_is_named(tmp_path, content):
    copied(tmp_path, "toy/two-gangs")
    (tmp_path / "toy" / "two-gangs.best.json").unlink()
    (tmp_path / "toy" / "two-gangs.best.json.gz").write_bytes(content)
    with pytest.raises(InputError, match=r"toy/two-gangs\.best\.json\.gz"):
        instances(tmp_path)


def test_rounds_are_in_the_order_of_their_numbers():
    names = [x.name for x in ALL if x.name.startswith("traces/muri-")]
    assert names == [f"traces/muri-{jobs}" for jobs in (10, 30, 100, 300, 1000, 3000, 10_000)]
    assert [name for name in shipped_rounds() if name.startswith("traces/muri-")] == names


def test_rounds_are_named_as_in_the_library_and_have_the_stored_fingerprint():
    for instance in ALL:
        if isinstance(instance.given, Round):
            assert instance.given.name == instance.name
            assert instance.given.fingerprint == instance.best.fingerprint
        else:
            assert instance.given.fingerprint == instance.best.fingerprint
        assert instance.best.source


def test_small_philly_rounds_have_nobody_to_evict():
    rounds = [x.given for x in ALL if x.family == "small" and x.optima("philly")]
    assert len(rounds) >= 8
    assert all(job.restart_seconds is None for round_ in rounds for job in round_.jobs)


def test_the_toys_have_the_optima_of_their_chapters():
    known = {(x.name, one.policy): one.value for x in ALL if x.family == "toy" for one in x.best.optima}
    chapters = library_folder().parent / "formulations"
    examples = [one for path in chapters.glob("*/examples.json") for one in json.loads(path.read_text())]
    told = {(one["instance"], one["policy"]): one["optimum"] for one in examples if "policy" in one}
    assert len(told) >= 15
    assert told.items() <= known.items()


def test_the_page_of_the_library_is_up_to_date():
    page = library_folder() / "README.md"
    assert page.read_text() == readme_text(ALL), "run: muri-opt library table > instances/README.md"


def test_instances_are_filtered_by_family_policy_and_size():
    small = instances(family="small")
    assert {x.family for x in small} == {"small"}
    assert [x.name for x in ALL if x.family == "small"] == [x.name for x in small]
    by_name = instances(policy="srtf")
    assert {one.policy for x in by_name for one in x.optima("srtf")} >= {"srtf", "srtf:nodes=fewest"}
    exact = instances(policy="srtf:nodes=fewest")
    assert exact
    assert all("srtf:nodes=fewest" in {one.policy for one in x.best.optima} for x in exact)
    assert {x.name for x in exact} < {x.name for x in by_name}
    few = instances(most_jobs=4)
    assert few == tuple(x for x in ALL if x.jobs <= 4)
    assert 0 < len(few) < len(ALL)


@pytest.mark.parametrize(
    ("wanted", "field"),
    [({"family": "smal"}, "family"), ({"policy": "muri"}, "policy"), ({"most_jobs": -1}, "most_jobs")],
)
def test_unknown_names_are_refused(wanted, field):
    with pytest.raises(InputError) as error:
        instances(**wanted)
    assert error.value.field == field


def test_a_folder_that_is_none_is_refused(tmp_path):
    with pytest.raises(InputError, match="a folder with the families"):
        instances(tmp_path / "nowhere")


def test_a_library_may_lack_families(tmp_path):
    assert instances(tmp_path) == ()
    assert only(copied(tmp_path, "toy/two-gangs")).name == "toy/two-gangs"


def test_a_round_without_optima_and_optima_without_a_round_are_named(tmp_path):
    copied(tmp_path, "toy/two-gangs")
    best = tmp_path / "toy" / "two-gangs.best.json"
    kept = best.read_text()
    best.unlink()
    with pytest.raises(InputError, match=r"toy/two-gangs\.best\.json"):
        instances(tmp_path)
    best.write_text(kept)
    (tmp_path / "toy" / "two-gangs.json").unlink()
    with pytest.raises(InputError, match=r"toy/two-gangs\.json: found nothing"):
        instances(tmp_path)


BROKEN = {
    "unknown field": lambda data: data.update(comment="x"),
    "unknown field of an optimum": lambda data: data["optima"][0].update(comment="x"),
    "unknown field of a decision": lambda data: data["optima"][0]["decision"].update(comment="x"),
    "another format": lambda data: data.update(format="muri-opt/best/2"),
    "no format": lambda data: data.pop("format"),
    "no optimum": lambda data: data.update(optima=[]),
    "one policy twice": lambda data: data["optima"].append(data["optima"][0]),
    "a bare claim": lambda data: data["optima"][0].update(proof="ClaimOnly"),
    "a bound without a proof": lambda data: data["optima"][0].pop("proof"),
    "a proof without a bound": lambda data: data["optima"][0].pop("bound"),
    "a policy in another spelling": lambda data: data["optima"][0].update(policy="fifo:nodes=any"),
    "an unknown policy": lambda data: data["optima"][0].update(policy="fif"),
    "a date that is none": lambda data: data["optima"][0].update(date="yesterday"),
    "a value that is none": lambda data: data["optima"][0].update(value=1.5),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_file_of_optima_is_refused_and_named(tmp_path, fault):
    name = "toy/two-gangs"
    data = best_data(copied(tmp_path, name), name)
    BROKEN[fault](data)
    write_data(tmp_path, name, data)
    with pytest.raises(InputError, match=r"^toy/two-gangs\.best\.json: "):
        instances(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"format": 3}'])
def test_text_that_is_no_optima_and_no_round_is_refused(tmp_path, text):
    copied(tmp_path, "toy/two-gangs")
    for suffix in (".best.json", ".json"):
        path = tmp_path / "toy" / f"two-gangs{suffix}"
        path.write_text(text)
        with pytest.raises(InputError, match=rf"^toy/two-gangs{suffix}: "):
            instances(tmp_path)


def test_a_recipe_makes_its_round_and_one_that_makes_another_is_refused(tmp_path):
    name = next(x.name for x in ALL if isinstance(x.given, Recipe))
    copied(tmp_path, name)
    instance, path = only(tmp_path), tmp_path / f"{name}.json"
    assert (len(instance.round().jobs), len(instance.round().cluster.nodes)) == (instance.jobs, instance.nodes)
    assert load_round(path) == instance.round()
    recipe = json.loads(path.read_text())
    recipe["generate"]["seed"] += 1
    path.write_text(json.dumps(recipe))
    with pytest.raises(InputError, match=rf"^{name}\.json: fingerprint"):
        only(tmp_path).round()
    recipe["generate"]["sed"] = 1
    path.write_text(json.dumps(recipe))
    with pytest.raises(InputError, match=rf"^{name}\.json: recipe: .*sed"):
        instances(tmp_path)


def test_what_is_written_reads_the_same(tmp_path):
    for instance in ALL:
        path = tmp_path / "one.best.json"
        write_best(instance.best, path)
        assert read_best(path) == instance.best
        if best_path(instance.path).name.endswith(".best.json"):
            assert path.read_bytes() == best_path(instance.path).read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["one.best.json"]


def test_a_file_that_cannot_be_written_is_named_and_nothing_is_left(tmp_path):
    with pytest.raises(InputError, match="a file that can be written"):
        write_best(ALL[0].best, tmp_path / "nowhere" / "one.best.json")
    (tmp_path / "one.best.json").mkdir()
    with pytest.raises(InputError, match="a file that can be written"):
        write_best(ALL[0].best, tmp_path / "one.best.json")
    assert [path.name for path in tmp_path.iterdir()] == ["one.best.json"]


def test_gaps_are_shown_as_none_only_where_there_is_none():
    optimum = ALL[0].best.optima[0]
    assert gap_text(optimum) == "0"
    assert gap_text(msgspec.structs.replace(optimum, value=1_000_000, bound=1_000_001)) == "below 0.01 %"
    assert gap_text(msgspec.structs.replace(optimum, value=1000, bound=1001)) == "0.10 %"
    unknown = msgspec.structs.replace(optimum, bound=None, proof=None)
    assert gap_text(unknown) == "unknown"
    assert "| none | unknown | nobody |" in readme_text([replace(ALL[0], best=ALL[0].best.with_optimum(unknown))])


def test_a_stored_round_is_an_ordinary_round():
    stored = next(x for x in ALL if x.name == "paper/rubick-figure-8")
    assert read_round(stored.path) == stored.round() == load_round(stored.path)


def test_an_optimum_is_asked_for_by_its_exact_policy():
    toy = next(x for x in ALL if x.name == "toy/eight-gangs")
    assert toy.optimum("srtf").value == 114
    with pytest.raises(InputError, match="policy of toy/eight-gangs"):
        toy.optimum("srt")
