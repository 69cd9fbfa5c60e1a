"""A key that an object of a round file has twice is refused, and nothing else is."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, strategies as st
from more_examples import more_examples

from muri_opt.errors import InputError
from muri_opt.rounds import parse_round
from muri_opt.rounds.repeated_keys import check_keys
from muri_opt.studies.library import shipped_round, shipped_rounds

START = '{"format": "muri-opt/round/1", "cluster": {"nodes": [{"id": "n0", "gpus": 8}]}, '


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"jobs": [{"id": "a", "gpus": 2, "gpus": 8}]}', "jobs[0] ('a'): found the key 'gpus' twice (2, 8)"),
        ('"jobs": [{"id": "a", "gpus": 2, "gpus": 3, "gpus": 4}]}', "the key 'gpus' 3 times (2, 3, 4)"),
        ('"jobs": [{"id": "a", "gpus": 2}], "jobs": []}', "round: found the key 'jobs' twice"),
        ('"jobs": [], "name": "a", "n\\u0061me": "b"}', "round: found the key 'name' twice ('a', 'b')"),
        ('"jobs": [{"id": "\\u003a", "gpus": 2, "gpus": 8}]}', "jobs[0] (':'): found the key 'gpus' twice"),
        ('"jobs": [{"id": "a", "gpus": 1, "priority": 0, "gpus": 1}]}', "jobs[0] ('a'): found the key 'gpus' twice"),
        (
            '"jobs": [{"id": "a", "gpus": 2, "state": "running", "placement": {"n0": 1, "n0": 2}}]}',
            "jobs[0] ('a').placement: found the key 'n0' twice (1, 2)",
        ),
    ],
)
def test_a_repeated_key_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(InputError) as error:
        parse_round(START + text)
    assert words in str(error.value)
    assert error.value.allowed == "each key once"


@pytest.mark.parametrize(
    "text",
    [
        '"jobs": [{"id": "a:b", "user": "c\\u003a", "gpus": 2, "priority": 0, "state": "waiting"}], "now": 0}',
        '"jobs": [{"gpus": 2, "id": "gpus"}, {"gpus": 2, "id": "id"}], "name": "jobs"}',
        '"jobs" : [ ] }',
    ],
)
def test_colons_in_names_and_fields_as_they_would_be_are_no_repeated_keys(text: str) -> None:
    parse_round(START.replace("round/1", "round/2") + text)


@pytest.mark.parametrize(
    "name", [name for name in sorted(shipped_rounds()) if name.partition("/")[0] in ("toy", "small")]
)
def test_a_job_that_was_read_is_written_with_no_field_that_it_did_not_have(name: str) -> None:
    round_ = shipped_round(name)
    assert round_ is not None
    for job in round_.jobs[:10]:
        said = json.loads(msgspec.json.encode(job))
        for left_out in (None, *said):
            text = json.dumps({field: value for field, value in said.items() if field != left_out})
            try:
                again = msgspec.json.encode(msgspec.json.decode(text, type=type(job)))
            except (msgspec.ValidationError, InputError):
                continue
            assert again.count(b":") <= text.count(":")


class Text(str):
    """A value that is JSON already."""

    __slots__ = ()


def text_of(value: object) -> str:
    return value if isinstance(value, Text) else json.dumps(value)


VALUES = st.recursive(
    st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda some: "[" + ", ".join(map(text_of, some)) + "]").map(Text)
        | st.lists(st.tuples(st.sampled_from([*'ab:"\\', ""]), inner), max_size=3).map(
            lambda pairs: Text("{" + ", ".join(f"{json.dumps(key)} : {text_of(value)}" for key, value in pairs) + "}")
        )
    ),
    max_leaves=6,
)


def repeats(text: str) -> bool:
    """Return whether an object in a text has a key twice, by counting the keys of every object."""
    found = list[bool]()
    json.loads(text, object_pairs_hook=lambda pairs: found.append(len(dict(pairs)) < len(pairs)))
    return any(found)


@given(VALUES)
@more_examples(200)
def test_whatever_the_text_is_a_key_is_refused_where_it_is_there_twice(value: object) -> None:
    text = text_of(value)
    if repeats(text):
        with pytest.raises(InputError, match="each key once"):
            check_keys(text.encode(), "text")
    else:
        check_keys(text.encode(), "text")
