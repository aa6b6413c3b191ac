"""Which kernels move which world, and what is refused before anything is rendered."""

from pathlib import Path

import pytest

from trex.foundation.errors import InputError
from trex.query.toml_file import parse_query
from trex.worlds import kernels
from trex.worlds.kernels import SamplerKind, kernel_names
from trex.worlds.registry import make_plan

CLEVR = (
    'question = "How many cubes are there?"\nanswer = 1\n[model]\nname = "fake"\n[render]\npreset = "fake"\n'
)
SHIPPED = kernels.samplers()
DIGITS = 'answer = 1\n[generator]\nname = "mnist-vae"\n'


def test_each_form_has_its_default_first() -> None:
    assert kernel_names("scene") == ("block", "random_walk", "surrogate", "smc")
    assert kernel_names("vector") == ("gaussian", "nuts", "smc")


@pytest.mark.parametrize(
    ("text", "kernel", "words"),
    [
        (CLEVR, "gibbs", ["search.kernel = 'gibbs'", "'clevr'", "use block or random_walk or surrogate"]),
        (CLEVR, "nuts", ["search.kernel = 'nuts'", "use block or random_walk or surrogate"]),
        (DIGITS, "block", ["search.kernel = 'block'", "'mnist-vae'", "use gaussian or nuts"]),
    ],
)
def test_a_kernel_that_does_not_move_in_a_world_is_refused(text: str, kernel: str, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        make_plan(parse_query(text, "q.toml", [f"search.kernel={kernel}"]), Path())
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize(
    ("text", "overrides", "warmup"),
    [
        (CLEVR, ["search.steps=500"], 100),
        (CLEVR, ["search.steps=3"], 0),
        (CLEVR, ["search.steps=500", "search.warmup=0"], 0),
        (DIGITS, ["search.steps=500", "search.kernel=nuts"], 250),
    ],
)
def test_a_share_of_the_steps_is_warmup_unless_the_query_says_how_many(
    text: str, overrides: list[str], warmup: int
) -> None:
    query = parse_query(text, "q.toml", overrides)
    assert kernels.check_search(query, "vector" if text == DIGITS else "scene").search.warmup == warmup


def test_options_that_no_kernel_takes_are_refused() -> None:
    with pytest.raises(InputError, match=r"search\.options\.beta of kernel 'block'"):
        make_plan(parse_query(CLEVR, "q.toml", ["search.options.beta=1"]), Path())


@pytest.fixture
def with_samplers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two more samplers for scenes, of which "slope" needs gradients."""
    more = {
        "slope": SamplerKind("slope", ("scene",), SHIPPED["smc"].make, needs_gradients=True),
        "level": SamplerKind("level", ("scene",), SHIPPED["smc"].make),
    }
    monkeypatch.setattr(kernels, "samplers", lambda: {**SHIPPED, **more})


@pytest.mark.usefixtures("with_samplers")
def test_a_sampler_that_needs_gradients_is_refused_in_a_world_of_scenes() -> None:
    assert (
        make_plan(parse_query(CLEVR, "q.toml", ["search.kernel=level"]), Path()).query.search.kernel
        == "level"
    )
    with pytest.raises(InputError, match="'slope' needs gradients, which 'clevr' does not have; use 'block'"):
        make_plan(parse_query(CLEVR, "q.toml", ["search.kernel=slope"]), Path())


@pytest.mark.parametrize(
    ("kernel", "objects", "is_refused"),
    [
        ("random_walk", "[3, 10]", True),
        ("random_walk", "5", False),
        ("random_walk", "[5, 5]", False),
        ("block", "[3, 10]", False),
    ],
)
def test_the_random_walk_is_refused_where_the_number_of_objects_varies(
    kernel: str, objects: str, is_refused: bool
) -> None:
    """It never changes that number, so its chains would not reach every scene."""
    query = parse_query(CLEVR, "q.toml", [f"search.kernel={kernel}", f"scene.objects={objects}"])
    if not is_refused:
        assert make_plan(query, Path()).query.search.kernel == kernel
        return
    with pytest.raises(InputError, match=r"never changes the number of objects.*\[3, 10\].*use 'block'"):
        make_plan(query, Path())
