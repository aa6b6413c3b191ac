"""Small parts of a run and its query: records, folder, distinct scenes, shape cards, the index pass, the queries."""

import dataclasses
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.references.scene_strategies import scenes
from tests.running.runs import QUERY, read_query, run
from trex.foundation.errors import InputError, RunError
from trex.query.shape_cards import read_card
from trex.runs.folder import open_run
from trex.runs.record import Record, from_line, to_line
from trex.scenes.distinct import are_distinct
from trex.scenes.scene import Nuisances, Scene, SceneObject
from trex.scenes.visibility import visible_pixels
from trex.scenes.vocabulary import CLEVR, CONE
from trex.search.judging.caveats import check_passes
from trex.worlds.registry import check

QUERIES = Path(__file__).resolve().parents[3] / "queries"


def item(x: float = 0.0, y: float = 0.0, color: str = "red", rotation: float = 0.0) -> SceneObject:
    return SceneObject("sphere", "small", color, "metal", x, y, rotation)


def scene(*items: SceneObject, camera: float = 0.0) -> Scene:
    return Scene(items, Nuisances(camera=(camera, 0.0, 0.0)))


def record(z: Scene, *log_probs: float, visible: tuple[int, ...] = ()) -> Record:
    return Record("prior", -1, 0, z, True, -1.0, -2.0, 0.0, log_probs, visible)


numbers = st.floats(allow_nan=False)


@settings(max_examples=50)
@given(scenes(), numbers, numbers, st.lists(st.floats(max_value=0.0, allow_nan=False), max_size=4))
def test_a_record_keeps_every_bit(z: Scene, weight: float, ratio: float, log_probs: list[float]) -> None:
    rng = dict(np.random.default_rng(3).bit_generator.state)
    record = Record("chain", 2, 7, z, False, -math.inf, weight, ratio, tuple(log_probs), (1, 2), "ab", rng)
    assert from_line(to_line(record)) == record
    assert to_line(record).endswith("}\n")
    assert "Infinity" not in to_line(record)


def test_what_nuts_says_of_a_step_comes_back_byte_for_byte() -> None:
    """Flags and counts among its numbers: a farm writes the lines of its workers anew."""
    figures = {"accept_prob": 0.5, "is_divergent": False, "depth": 3, "n_gradients": 7}
    line = to_line(dataclasses.replace(record(scene(item()), -0.1), figures=figures))
    assert to_line(from_line(line)) == line
    for wrong in ('"accept_prob":null', '"accept_prob":"half"'):
        with pytest.raises(RunError, match="accept_prob"):
            from_line(line.replace('"accept_prob":0.5', wrong))


@pytest.mark.parametrize("line", ["", "{}", "[]", "null", '{"phase": "prior"}', "\x00\x00"])
def test_what_is_no_draw_is_refused(line: str) -> None:
    with pytest.raises(RunError, match="not a draw"):
        from_line(line)


def test_a_nan_is_never_written() -> None:
    with pytest.raises(RunError, match="NaN"):
        to_line(record(scene(item()), math.nan))


def test_two_processes_never_write_into_one_run(tmp_path: Path) -> None:
    done = run(tmp_path, ["search.steps=0"])
    with open_run(done.folder, for_writing=True):
        with pytest.raises(RunError, match="another process"):
            open_run(done.folder, for_writing=True)
        open_run(done.folder, for_writing=False).close()
    open_run(done.folder, for_writing=True).close()


def test_a_run_that_could_not_be_opened_is_not_locked_by_it(tmp_path: Path) -> None:
    """Planted bug: the lock stayed with the process, so that no later attempt could open the run."""
    done = run(tmp_path, ["search.steps=0"])
    (done.folder / "pictures").rename(tmp_path / "pictures")
    (done.folder / "pictures").write_text("a file")
    with pytest.raises(RunError):
        open_run(done.folder, for_writing=True)
    (done.folder / "pictures").unlink()
    open_run(done.folder, for_writing=True).close()


DISTINCT = [
    (scene(item(), item(1)), scene(item(), item(1)), False),
    (scene(item(), item(1)), scene(item(1), item()), False),  # the order of the objects
    (scene(item(), item(1)), scene(item(rotation=2), item(1), camera=0.3), False),  # not counted
    (scene(item(), item(1)), scene(item(), item(1.4)), False),  # not far enough
    (scene(item(), item(1)), scene(item(), item(1, color="blue")), False),  # one object alone
    (scene(item(), item(1)), scene(item(), item(1, 2)), False),
    (scene(item(), item(1)), scene(item(0, 1), item(1, 2)), True),
    (scene(item(), item(1)), scene(item(color="blue"), item(1, 2)), True),
    (scene(item(), item(1)), scene(item(), item(1), item(2)), False),
    (scene(item(), item(1)), scene(item(), item(1), item(2), item(-2)), True),
    (scene(item()), scene(item(2)), True),  # of one object, one may differ
]


@pytest.mark.parametrize(("element", "other", "expected"), DISTINCT)
def test_which_scenes_are_distinct(element: Scene, other: Scene, expected: bool) -> None:
    assert are_distinct(element, other) is expected
    assert are_distinct(other, element) is expected


def test_the_index_pass_is_compared_at_the_pictures_size() -> None:
    z = scene(item(), item(1, 1))
    exact = tuple(int(n) for n in visible_pixels(z, CLEVR))
    good = check_passes([record(z, 0.0, visible=exact)], CLEVR, (480, 320))
    assert "on 1 scenes with 2 objects: 0 decisions differ" in good and "differ by 0% in the median" in good
    quarter = tuple(n // 4 for n in exact)
    small = re.search(
        r"differ by ([0-9.]+)% in", check_passes([record(z, 0.0, visible=quarter)], CLEVR, (240, 160))
    )
    assert small and float(small[1]) < 1.0
    hidden = check_passes([record(z, 0.0, visible=(exact[0], 40))], CLEVR, (480, 320))
    assert "1 decisions differ" in hidden


def test_shipped_shapes_are_those_of_the_vocabulary(tmp_path: Path) -> None:
    for card in (*CLEVR.cards, CONE):
        assert read_card(card.name, tmp_path) == card


PYRAMID = "v -1 -1 -1\nv 1 -1 -1\nv 1 1 -1\nv -1 1 -1\nv 0 0 1\nf 1 2 3 4\n"
FLAT = "v 0 0 -1\nv 1 0 -1\nv 1 1 -1\nv 0 1 -1\nf 1 2 3 4\n"


def test_a_shape_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "pyramid.obj").write_text(PYRAMID)
    (tmp_path / "pyramid.toml").write_text('name = "pyramid"\nmesh = "pyramid.obj"\n')
    card = read_card("pyramid.toml", tmp_path)
    assert (card.plural, card.nouns, card.outline) == ("pyramids", ("pyramid",), "mesh")
    for x, y, z, inside in [(0, 0, 0, True), (0.9, 0, -0.9, True), (0.9, 0, 0.5, False), (0, 0, 1.1, False)]:
        assert all(a * x + b * y + c * z <= d + 1e-9 for a, b, c, d in card.hull) is inside
    world = CLEVR.introduce(card).revoke("cube")
    pyramid = SceneObject("pyramid", "large", "red", "metal", 0.0, 0.0, 0.0)
    cube = dataclasses.replace(pyramid, shape="cube")
    seen = visible_pixels(Scene((pyramid,), Nuisances()), world)[0]
    assert 0.3 < seen / visible_pixels(Scene((cube,), Nuisances()), CLEVR)[0] < 0.8
    query = tmp_path / "query.toml"
    query.write_text(QUERY.replace("[scene]", '[scene]\nintroduce = ["pyramid.toml"]'))
    plan = check(query)
    assert plan.vocabulary.available("shape") == ("sphere", "cylinder", "pyramid")


@pytest.mark.parametrize(
    ("card", "mesh", "part"),
    [
        ('name = "p"\nmesh = "gone.obj"', PYRAMID, "gone.obj cannot be read"),
        ('name = "p"', PYRAMID, "mesh: field required"),
        ('name = "p"\nmesh = "p.obj"\ncolour = 1', PYRAMID, "colour"),
        ('name = "P q"\nmesh = "p.obj"', PYRAMID, "name"),
        ('name = "p"\nmesh = "p.obj"\noutline = "blob"', PYRAMID, "outline 'blob'"),
        ('name = "p"\nmesh = "p.obj"', PYRAMID.replace("v 1 1", "v 9 9"), "scale and move it"),
        ('name = "p"\nmesh = "p.obj"', "v 0 0 -1\n", "1 vertices and no face"),
        ('name = "p"\nmesh = "p.obj"', FLAT, "is flat"),
        ('name = "p"\nmesh = "p.obj"', "v a b c\n", "line 1: 'a' is not a number"),
        ('name = "p"\nmesh = "p.obj"', PYRAMID.replace("f 1", "f 9"), "vertex 9 does not exist"),
        ("name = ", PYRAMID, "cannot be read"),
    ],
)
def test_a_bad_card_is_named(card: str, mesh: str, part: str, tmp_path: Path) -> None:
    (tmp_path / "p.obj").write_text(mesh)
    (tmp_path / "p.toml").write_text(card)
    with pytest.raises(InputError) as caught:
        read_card("p.toml", tmp_path)
    assert part in str(caught.value)


SCENES = sorted(path for path in QUERIES.glob("*.toml") if "[generator]" not in path.read_text())


@pytest.mark.parametrize("path", SCENES, ids=lambda path: path.stem)
def test_the_shipped_queries_are_good(path: Path) -> None:
    plan = check(path, ["model.name=fake", "render.preset=fake"])
    assert plan.query.scene.objects == (5, 5)
    assert read_query(path).model.name == "shipped"
