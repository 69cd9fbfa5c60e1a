"""The survey of policies tells of each as it is done, and does not do again what its file has."""

import msgspec

from benchmarks import invariants
from benchmarks.invariants import Broken, Options, Survey, described, told
from muri_opt import Cluster, Job, Node, Round, Tenant

FEW = ["--examples", "4", "--optimum-examples", "1", "--seeds", "0,1", "--policies", "fifo,rubick"]


def test_a_survey_is_kept_and_read_again(tmp_path, capsys):
    path = tmp_path / "kept.jsonl"
    invariants.main([*FEW, "--results", str(path)])
    first = capsys.readouterr().out
    lines = path.read_bytes().splitlines()
    assert [msgspec.json.decode(line, type=Survey).policy for line in lines] == ["fifo", "rubick"]
    changed = first.replace("fifo: 0 broken", "fifo: 1 broken")
    survey = msgspec.json.decode(lines[0], type=Survey)
    example = Broken(detail="worse", round_=Round(cluster=Cluster(nodes=()), jobs=()))
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(survey, broken={"names": example})) + b"\n" + lines[1])
    invariants.main([*FEW, "--results", str(path)])
    again = capsys.readouterr().out
    assert again != first
    assert again.startswith(changed.splitlines()[0] + "\n* fifo, `names`: worse. ")
    assert again.count("| no |") == 1
    assert len(path.read_bytes().splitlines()) == 2


def test_other_options_are_another_survey(tmp_path):
    path = tmp_path / "kept.jsonl"
    options = Options(examples=4, optimum_examples=1, seeds=(0,), smallest=False)
    path.write_bytes(msgspec.json.encode(Survey(policy="fifo", options=options, broken={}, worst={})) + b"\n")
    assert set(invariants.kept(path, options)) == {"fifo"}
    assert invariants.kept(path, msgspec.structs.replace(options, seeds=(1,))) == {}
    assert invariants.kept(tmp_path / "none.jsonl", options) == invariants.kept(None, options) == {}


def test_only_what_breaks_a_promise_is_shrunk_unless_all_is():
    few = Options(examples=20, optimum_examples=1, seeds=(5,), smallest=False)
    first = invariants.surveyed("optimus-ps", few).broken["alone"].round_
    assert len(first.jobs) > 1


def test_what_is_told_names_the_promise():
    nodes = (Node(id="n0", gpus=1, cpus=2.0), Node(id="n1", gpus=2))
    round_ = Round(cluster=Cluster(nodes=nodes, tenants=(Tenant(id="t", quota_gpus=1),)), jobs=(Job(id="a", gpus=1),))
    assert described(round_) == 'GPUs 1 (2 CPUs)+2; quotas t 1; {"id":"a","gpus":1}'
    broken = {"twins": Broken(detail="worth 1, then 2", round_=round_)}
    survey = Survey(
        policy="max-min",
        options=Options(examples=1, optimum_examples=1, seeds=(0,), smallest=True),
        broken=broken,
        worst={},
    )
    assert list(told(survey)) == [
        f"* max-min, `twins`: worth 1, then 2. {described(round_)}",
        "* max-min promises `twins`, and breaks it",
        "* max-min does not promise `waiting-removed`; no round of these breaks it",
    ]
