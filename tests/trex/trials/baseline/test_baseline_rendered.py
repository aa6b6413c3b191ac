"""Rendered baselines: resumable after a kill, shared by queries and models, independent of the runs beside them."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.running.command_line import trex
from tests.running.runs import run
from tests.running.runs import write_query as write_run_query
from tests.serving.html_page import read_page
from tests.worlds.baseline_worlds import QUERY, write_query
from trex.foundation.errors import InputError
from trex.inference.statistics.importance import prior_draw
from trex.inference.statistics.proportion import Proportion
from trex.query.schema import RenderSection
from trex.query.shipped import QUERIES
from trex.render.ahead import LEAST_CROWDED
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR
from trex.trials.baseline import score as baseline_rendered
from trex.trials.baseline.baseline import Baseline
from trex.trials.baseline.files import read_baselines
from trex.trials.baseline.run import make_baseline
from trex.trials.baseline.score import RenderedScenes
from trex.trials.options import BaselineOptions

N = 40
ALARM = 1e-5


def source(cache: Path, n: int = N, seed: int = 0, prior: ScenePrior | None = None) -> RenderedScenes:
    prior = prior or ScenePrior(CLEVR, (3, 4))
    return RenderedScenes(prior, RenderSection(preset="fake"), n, seed, "a world", cache)


class Counted:
    """Counts the scenes that the fake renderer is given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.scenes: list[Scene] = []
        real = FakeRenderer.render

        def render(renderer: FakeRenderer, zs: list[Scene]) -> list[Picture]:
            self.scenes += zs
            return real(renderer, zs)

        monkeypatch.setattr(FakeRenderer, "render", render)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


def pixels(scenes: RenderedScenes) -> list[bytes]:
    return [example.pixels.tobytes() for example in scenes]


def killed_after(work: Iterator[object], steps: int) -> None:
    """Takes so many steps in a process that is then killed."""
    pid = os.fork()
    if pid == 0:
        try:
            for _ in range(steps):
                next(work)
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])


@pytest.mark.process
@pytest.mark.parametrize("steps", [1, 17, 39])
def test_a_kill_loses_no_picture(steps: int, tmp_path: Path, counted: Counted) -> None:
    whole = pixels(source(tmp_path / "whole"))
    killed_after(iter(source(tmp_path / "cache")), steps)
    before = len(counted.scenes)
    assert pixels(source(tmp_path / "cache")) == whole
    rendered_again = len(counted.scenes) - before
    batch = baseline_rendered.BATCH
    assert rendered_again == max(0, N - (steps + batch - 1) // batch * batch)
    assert pixels(source(tmp_path / "cache")) == whole
    assert len(counted.scenes) - before == rendered_again  # and nothing the third time


@pytest.mark.parametrize("damage", ["cut", "altered", "swapped"])
def test_draws_that_are_damaged_are_drawn_again(damage: str, tmp_path: Path) -> None:
    whole = pixels(source(tmp_path))
    (path,) = (tmp_path / "drawn").iterdir()
    data = path.read_bytes()
    if damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "altered":
        path.write_bytes(data.replace(b'"small"', b'"large"'))
    else:  # the scenes of two draws change places
        lines = data.split(b"\n")
        datas, other = lines[1].split(b" ", 1), lines[2].split(b" ", 1)
        lines[1], lines[2] = datas[0] + b" " + other[1], other[0] + b" " + datas[1]
        path.write_bytes(b"\n".join(lines))
    assert pixels(source(tmp_path)) == whole
    assert pixels(source(tmp_path)) == whole


def test_more_scenes_go_on_where_fewer_ended(tmp_path: Path, counted: Counted) -> None:
    few = pixels(source(tmp_path, 10))
    many = pixels(source(tmp_path, 25))
    assert many[:10] == few
    assert len(counted.scenes) == 25


def test_another_seed_or_world_has_other_scenes(tmp_path: Path) -> None:
    sets = [
        set(source(tmp_path, 5, 0).scenes()),
        set(source(tmp_path, 5, 1).scenes()),
        set(source(tmp_path, 5, 0, ScenePrior(CLEVR.revoke("cube"), (3, 4))).scenes()),
        set(source(tmp_path, 5, 0, ScenePrior(CLEVR, (4, 4))).scenes()),
    ]
    assert len(set().union(*sets)) == 20


@pytest.mark.process
def test_crowded_scenes_are_drawn_by_other_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    look = RenderSection(preset="fake", processes=2)
    scenes = RenderedScenes(ScenePrior(CLEVR, (9, 9)), look, LEAST_CROWDED, 3, "a world", tmp_path)
    own = [scenes._draw(index) for index in range(LEAST_CROWDED)]

    def _draw(self: RenderedScenes, index: int) -> Scene:
        raise AssertionError("this process draws it itself")

    monkeypatch.setattr(RenderedScenes, "_draw", _draw)
    assert list(scenes.scenes()) == own


def check_independent_of_runs(tmp_path: Path) -> None:
    prior = ScenePrior(CLEVR, (3, 4))
    of_a_run = {prior_draw(seed, index, prior)[0] for seed in range(3) for index in range(5)}
    assert not of_a_run & set(source(tmp_path, 15, 0, prior).scenes())


def test_no_scene_is_that_of_a_run(tmp_path: Path) -> None:
    check_independent_of_runs(tmp_path)


def test_a_baseline_of_the_runs_own_draws_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baseline_rendered, "BASELINE_STREAM", 0)
    with pytest.raises(AssertionError):
        check_independent_of_runs(tmp_path)


def baselines(folder: Path, queries: list[Path], **wanted: object) -> tuple[Baseline, ...]:
    options = BaselineOptions(rendered=N, cache=folder / "cache", **wanted)  # type: ignore[arg-type]
    return make_baseline(queries, [], options, folder / "out", lambda *_: None).baselines


def two_queries(folder: Path) -> list[Path]:
    other = QUERY.replace("revoke", "# revoke").replace("objects = 4", "objects = 3")
    return [write_query(folder, QUERY, "a.toml"), write_query(folder, other, "b.toml")]


@pytest.mark.slow
def test_clevrs_world_is_shared_and_each_querys_own_is_not(tmp_path: Path, counted: Counted) -> None:
    queries = two_queries(tmp_path)
    own = baselines(tmp_path, queries)
    assert len(counted.scenes) == 2 * N
    assert own[0].source != own[1].source
    assert own[0].hits_inside.of == N  # every scene of its own world is inside
    assert [len(scene.objects) for scene in counted.scenes] == [4] * N + [3] * N
    shared = baselines(tmp_path, queries, world="clevr")
    assert len(counted.scenes) == 3 * N
    assert shared[0].source == shared[1].source
    assert {len(scene.objects) for scene in counted.scenes[2 * N :]} <= set(range(3, 11))
    assert 0 < shared[0].hits_inside.of < N == shared[1].hits_inside.of  # some have red spheres
    baselines(tmp_path, queries, world="clevr")
    assert len(counted.scenes) == 3 * N


def test_the_query_revokes_what_its_own_world_must_not_show(tmp_path: Path, counted: Counted) -> None:
    baselines(tmp_path, two_queries(tmp_path)[:1])
    reds = {item.shape for scene in counted.scenes for item in scene.objects if item.color == "red"}
    assert reds == {"cube", "cylinder"}


def test_hits_agree_with_a_searchs_prior_batch(tmp_path: Path) -> None:
    """The rate of the same level set, from other draws of the same prior, by two ways: Fisher's exact test."""
    from scipy.stats import fisher_exact

    overrides = ["answer=0", "target.kind=threshold", "target.threshold=0.01"]
    how = run(tmp_path, [*overrides, "search.prior_scenes=150", "search.steps=0"]).results.how_often
    wanted = BaselineOptions(rendered=150, cache=tmp_path / "cache")
    query, out = tmp_path / "query.toml", tmp_path / "out"
    (baseline,) = make_baseline([query], overrides, wanted, out, lambda *_: None).baselines
    table = [[how.hits, how.n - how.hits], [baseline.hits.count, baseline.hits.of - baseline.hits.count]]
    assert min(min(row) for row in table) > 20
    assert fisher_exact(table).pvalue > ALARM
    table[1] = [baseline.mistakes.count, baseline.mistakes.of - baseline.mistakes.count]
    assert fisher_exact(table).pvalue < ALARM  # mistakes taken for hits would be seen


# --- beside a run, and the page


def test_a_run_stands_beside_it(tmp_path: Path) -> None:
    done = run(tmp_path)
    query = tmp_path / "query.toml"
    (baseline,) = baselines(tmp_path, [query], beside=(done.folder,))
    (beside,) = baseline.beside
    assert (beside.found, beside.renders) == (len(done.results.found), done.results.renders)
    assert beside.ending == done.results.ending
    assert beside.mistakes == sum(found.is_wrong for found in done.results.found)
    assert read_baselines(tmp_path / "out") == (baseline,)
    page = (tmp_path / "out" / "baseline.html").read_text()
    assert f"{beside.found} distinct scenes" in page


@pytest.mark.parametrize(
    ("override", "what"),
    [
        ("answer=3", "target"),
        ("target.width=0.1", "target"),
        ("scene.objects=4", "world"),
        ('question="How many blue things are there?"', "question"),
    ],
)
def test_a_run_that_asks_otherwise_is_refused(override: str, what: str, tmp_path: Path) -> None:
    done = run(tmp_path, [override, "search.steps=2"])
    query = write_run_query(tmp_path)
    result = trex("baseline", query, "--rendered", 5, "--cache", tmp_path, "--beside", done.folder)
    assert result.exit_code == 2
    assert f"its {what} is" in result.stderr


def test_the_page_needs_nothing_but_itself(tmp_path: Path) -> None:
    queries = two_queries(tmp_path)
    arguments = ["--rendered", N, "--cache", tmp_path / "cache", "--out", tmp_path / "out"]
    result = trex("baseline", *queries, *arguments, "--all-pictures")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[-1] == f"page: {tmp_path / 'out' / 'baseline.html'}"
    page = read_page(tmp_path / "out" / "baseline.html")
    assert page.open == []
    assert all(reference.startswith(("data:", "#")) for reference in page.references)
    assert len(page.images) == 2 * N
    assert all((image["alt"] or "").startswith("Rendered scene with ") for image in page.images)
    for baseline in read_baselines(tmp_path / "out"):
        assert f"{baseline.hits.count} of {N}" in " ".join(page.text.split())
    fewer = trex("baseline", *queries, *arguments)  # an earlier baseline is replaced
    assert fewer.exit_code == 0
    page = read_page(tmp_path / "out" / "baseline.html")
    assert len(page.images) == sum(
        read_baseline.hits.count for read_baseline in read_baselines(tmp_path / "out")
    )


def test_a_hit_is_told_in_words(tmp_path: Path) -> None:
    """Planted bug: "P(2), observed at 1, width 0.05; a hit is within 0.1"."""
    query, out = write_query(tmp_path), tmp_path / "out"
    sure = ["--set", "target.kind=high_confidence", "--rendered", 4, "--cache", tmp_path, "--out", out]
    result = trex("baseline", query, *sure)
    hit = "it: the model is sure of 2 (P(2) within 0.1 of 1)"
    assert hit in result.stdout and hit in (out / "baseline.html").read_text()
    assert "observed" not in result.stdout
    (done,) = read_baselines(out)
    assert replace(done, goal="").wanted == done.target, "a file of before has no words"


def test_what_a_file_is_called_is_escaped(tmp_path: Path) -> None:
    from tests.worlds.baseline_worlds import Folder, pixels_with

    folder = Folder(tmp_path / "data")
    folder.picture("val", "<script>alert(1)<&.png", pixels_with(2.0))
    query = write_query(tmp_path)
    assert trex("baseline", query, "--dataset", folder.path, "--out", tmp_path / "out").exit_code == 0
    html = (tmp_path / "out" / "baseline.html").read_text()
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_for_machines(tmp_path: Path) -> None:
    query = write_query(tmp_path)
    arguments = ["--rendered", 6, "--cache", tmp_path / "cache", "--out", tmp_path / "out", "--json"]
    result = trex("baseline", query, *arguments)
    data = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    (baseline,) = read_baselines(Path(data["json"]))
    assert data["baselines"][0]["hits"]["count"] == baseline.hits.count
    assert data["baselines"][0]["examined"] == 6
    assert baseline.accuracy == Proportion(sum(row.answer == row.truth for row in baseline.seen), 6)


def test_without_a_place_it_goes_below_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    result = trex("baseline", *two_queries(tmp_path), "--rendered", 2)
    assert result.exit_code == 0, result.stderr
    assert (tmp_path / "runs/baseline-a-and-1-more/baseline.json").exists()
    assert (tmp_path / "cache/baselines/pictures").is_dir()


def test_a_renderer_that_fails_keeps_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trex.foundation.errors import RenderError

    queries = two_queries(tmp_path)
    first = baselines(tmp_path, queries)
    before = (tmp_path / "out" / "baseline.json").read_bytes()

    def fail(*_: object) -> None:
        raise RenderError("Blender is gone")

    monkeypatch.setattr(FakeRenderer, "render", fail)
    with pytest.raises(RenderError):
        make_baseline(
            queries,
            [],
            BaselineOptions(rendered=N + 1, cache=tmp_path / "cache"),
            tmp_path / "out",
            lambda *_: None,
        )
    assert (tmp_path / "out" / "baseline.json").read_bytes() == before
    assert baselines(tmp_path, queries) == first  # all from the cache


def test_scores_are_those_of_a_search(tmp_path: Path) -> None:
    """The same scene gets the same bits from a baseline and from a search."""
    from trex.datasets.examples import Example
    from trex.trials.baseline.score import log_probs
    from trex.worlds.registry import check

    plan = check(write_query(tmp_path))
    world = plan.open()
    scenes = [prior_draw(0, index, plan.prior)[0] for index in range(5)]
    for scored in world.scorer.score(scenes):
        example = Example("one", "", scored.picture.pixels)
        np.testing.assert_array_equal(log_probs(plan, example), scored.log_probs)


def test_the_level_set_of_a_mean_over_noise_draws_is_not_counted_from_single_pictures(tmp_path: Path) -> None:
    query = write_query(tmp_path)
    options = BaselineOptions(rendered=N, cache=tmp_path / "cache")
    with pytest.raises(InputError, match=r"render.noise=1"):
        make_baseline([query], ["render.noise=4"], options, tmp_path / "out", lambda *_: None)
    assert not (tmp_path / "out").exists()


def test_a_run_of_another_look_does_not_stand_beside_it(tmp_path: Path) -> None:
    """Planted bug: only question, target, model and world were compared."""
    done = run(tmp_path, ["render.noise=2", "search.steps=2"])
    query = tmp_path / "query.toml"
    with pytest.raises(InputError, match=r"its render.noise is '2', here '1'"):
        baselines(tmp_path, [query], beside=(done.folder,))
    (baseline,) = baselines(tmp_path, [query])
    assert baseline.preset == "fake"
    assert len(replace(baseline, preset="reference").differences(done.manifest)) == 2
    assert not replace(baseline, preset="").differences(done.manifest)  # a data folder has no look


def test_a_shipped_query_is_counted_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: the name that the error offers is refused; with its path it is the same query twice."""
    monkeypatch.chdir(tmp_path)
    words = [
        "--rendered",
        "2",
        "--cache",
        "cache",
        "--out",
        "out",
        "--model",
        "fake",
        "--set",
        "render.preset=fake",
    ]
    result = trex("baseline", "demo", QUERIES / "demo.toml", *words)
    assert result.exit_code == 0, result.output
    (baseline,) = read_baselines(tmp_path / "out" / "baseline.json")
    assert baseline.query == "demo"
