"""A query file is read strictly, and every mistake in it is named with a way out."""

import shutil
from pathlib import Path

import pytest

import trex
from tests.running.runs import QUERY, change_manifest, go_on, read_query, run
from trex.foundation.errors import InputError
from trex.mnist_models.load import weights_path
from trex.query.shape_cards import SHIPPED, read_card
from trex.query.toml_file import parse_query


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


def test_paths_of_a_query_may_begin_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: a folder "~" in the query's one, or, from Python, in the current one."""
    for file in SHIPPED.glob("cone.*"):
        shutil.copy(file, tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    card = "~/cone.toml"
    assert read_card(card, Path("queries")).name == "cone"
    assert trex.check(question="How many cubes are there?", answer=1, introduce=[card], preset="fake")
    assert weights_path("~/classifier.safetensors") == tmp_path / "classifier.safetensors"


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
        ("target = 3", ["target = 3: this is a table; set its keys (kind, width, threshold"]),
        ('revoke = ["cube"]', ["'revoke' in the query; it belongs to [scene]: scene.revoke"]),
        ("seed = 3", ["it belongs to [search]: search.seed"]),
        ('[search]\npreset = "fast"', ["'preset' in [search]; it belongs to [render]: render.preset"]),
        ("[search]\nwrong = true", ["it belongs to the query, above all sections: wrong"]),
        ('name = "fake"', ["it belongs to [generator] or [model]: generator.name or model.name"]),
        (
            "[target.options]\nbeta = 2",
            ["options.beta of kind 'high_confidence': this key is not known"],
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


def test_the_keys_of_a_section_are_listed_once() -> None:
    """Planted bug: every unknown key of a section was followed by all keys of that section."""
    with pytest.raises(InputError) as caught:
        parse_query("[search]\nstepz = 1\nchainz = 1", "q.toml")
    assert str(caught.value).count("keys: ") == 1
    assert "did you mean 'steps'" in str(caught.value) and "did you mean 'chains'" in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            ["target.threshold=0.4"],
            "target.threshold has no effect on target 'high_confidence'; .*\"threshold\"",
        ),
        (["target.threshold=0.9"], "target.threshold has no effect"),  # the default, but written
        (["target.kind=threshold", "target.share=0.1"], 'target.share has no effect .*"graded"'),
    ],
)
def test_a_setting_of_the_target_without_effect_is_refused(settings: list[str], text: str) -> None:
    with pytest.raises(InputError, match=text):
        parse_query(QUERY, "q.toml", settings)


def test_a_setting_of_the_target_is_taken_by_its_kind_and_from_stored_runs(tmp_path: Path) -> None:
    assert (
        parse_query(QUERY, "q.toml", ["target.kind=threshold", "target.threshold=0.4"]).target.threshold
        == 0.4
    )
    assert parse_query(QUERY, "q.toml", ["target.kind=graded", "target.share=0.1"]).target.share == 0.1
    file = 'question = "How many cubes are there?"\nanswer = "1"\n[target]\nkind = "threshold"\nthreshold = 0.4\n'
    of_another = parse_query(file, "q.toml", ["target.kind=high_confidence"])
    assert of_another.target.kind == "high_confidence"  # a key of the file cannot be taken away by --set
    place = run(tmp_path, ["search.steps=0"]).folder
    change_manifest(
        place, lambda data: data["query"]["target"].update(threshold=0.4)
    )  # as earlier versions took it
    assert go_on(place).manifest.query.target.threshold == 0.4


@pytest.mark.parametrize("text", ["search.seed", "=3", "question.text=3"])
def test_a_set_without_sense_is_named(text: str) -> None:
    with pytest.raises(InputError, match="--set"):
        parse_query(QUERY, "q.toml", [text])


def test_a_query_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"query 'dmo' is not known \(demo, .*did you mean 'demo'\? A query is"
    ):
        read_query(Path("dmo"))
    with pytest.raises(InputError, match="No such file"):
        read_query(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xfa\xfb")
    with pytest.raises(InputError, match="cannot be read"):
        read_query(tmp_path / "binary.toml")


@pytest.mark.parametrize("given", ["", "."])
def test_an_empty_query_is_called_so(given: str) -> None:
    with pytest.raises(InputError) as caught:
        read_query(Path(given))
    assert str(caught.value).count("give ") == 1
    assert "the query is empty or '.', a folder; give the path of a TOML file" in str(caught.value)


def test_a_question_in_place_of_a_query_says_where_questions_go() -> None:
    """Planted bug: a list of all shipped queries, and nothing on questions."""
    with pytest.raises(InputError) as caught:
        read_query(Path("How many cubes are there?"))
    assert "is a question, not a file; write it into a TOML file" in str(caught.value)
    assert "trex check 'QUESTION'" in str(caught.value) and "demo" not in str(caught.value)


def test_a_name_that_is_too_long_for_a_file_is_an_error_with_a_remedy() -> None:
    with pytest.raises(InputError, match="File name too long; give the path"):
        read_query(Path("a" * 5000))
