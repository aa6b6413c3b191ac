"""A query file is read strictly, and every mistake in it is named with a way out."""

from pathlib import Path

import pytest

from tests.running.runs import QUERY
from trex.foundation.errors import InputError
from trex.query.toml_file import parse_query, read_query


def test_six_lines_are_a_query() -> None:
    query = parse_query(
        'question = "How many cubes are there?"\nanswer = 1\n[scene]\nrevoke = "cube"', "q.toml"
    )
    assert query.answer == ("1",)
    assert query.scene.revoke == ("cube",)
    assert query.scene.objects == (5, 5)
    assert query.model.name == "shipped"
    assert (query.render.preset, query.target.width) == ("reference", 0.05)


def test_set_overrides_are_checked_like_the_file() -> None:
    overrides = ["search.seed=3", "search.kernel=random_walk", "scene.objects=[3, 10]", 'answer=["1", "2"]']
    query = parse_query(QUERY, "q.toml", overrides)
    assert (query.search.seed, query.search.kernel) == (3, "random_walk")
    assert query.scene.objects == (3, 10)
    assert query.answer == ("1", "2")
    with pytest.raises(InputError, match=r"unknown key 'sed' in \[search\]; did you mean 'seed'"):
        parse_query(QUERY, "q.toml", ["search.sed=3"])


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("serch = 1", ["unknown key 'serch'", "did you mean 'search'", "question, program"]),
        ("[search]\nsteps_ = 1", ["unknown key 'steps_' in [search]", "did you mean 'steps'"]),
        ("[search]\nkernel = 1", ["search.kernel = 1", "string"]),
        ('[search]\nseed = "a"', ["search.seed = 'a'", "integer"]),
        ("[search]\nchains = 0", ["search.chains = 0", "greater than or equal to 1"]),
        ("[target]\nwidth = -0.1", ["target.width = -0.1", "greater than or equal to 0.000001"]),
        ("[target]\nkind = 'sure'", ["target.kind = 'sure'", "high_confidence"]),
        ("[scene]\nobjects = 2.5", ["scene.objects = 2.5", "[3, 10]"]),
        ("answer = 1.5", ["answer = 1.5", 'like "1"']),
        ('program = [{functon = "scene"}]', ["'functon' in [program.0]", "did you mean 'function'"]),
        ("target = 3", ["target = 3"]),
        (
            "[target.options]\nbeta = 2",
            ["options.beta of kind 'high_confidence': extra inputs are not permitted"],
        ),
        ("question = ", ["not TOML", "Invalid value"]),
    ],
)
def test_a_mistake_is_named(text: str, parts: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        parse_query(text, "q.toml")
    assert str(caught.value).startswith("q.toml: ")
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize("text", ["search.seed", "=3", "question.text=3"])
def test_a_set_without_sense_is_named(text: str) -> None:
    with pytest.raises(InputError, match="--set"):
        parse_query(QUERY, "q.toml", [text])


def test_a_query_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_query(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="cannot be read"):
        read_query(tmp_path / "binary.toml")
