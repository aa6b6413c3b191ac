"""Queries of digits: on tiny random networks, so without data or trained weights, from check to report."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

import trex as trex_api
from tests.references.rank_test import RankTest, p_values, rank_histograms, smallest
from tests.references.statistics import ALPHA
from tests.running.command_line import trex
from tests.running.digit_runs import QUERY, save, save_models, search
from tests.running.runs import draws, go_on, leave_draws, write_query
from trex.finding.conclude import Outcome
from trex.inference.metropolis import Metropolis
from trex.inference.targets import high_confidence
from trex.inference.types import Floats, Prior, Target
from trex.mnist_models.latent import StandardNormal
from trex.query.toml_file import parse_query
from trex.trials.baseline.baseline import Baseline
from trex.trials.baseline.beside import attach_runs
from trex.trials.baseline.run import empty_baseline
from trex.worlds.registry import make_plan, world_named


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return save_models(tmp_path / "cache", monkeypatch)


@pytest.mark.usefixtures("models")
def test_a_run_is_kept_reported_and_gone_on_with(tmp_path: Path) -> None:
    done = search(tmp_path)
    whole = draws(done.folder)
    first = json.loads(whole.splitlines()[0])
    assert len(first["z"]) == 5 and "scene" not in first and first["visible"] == []
    found = done.results.found
    assert found and all(hit.truth is None and hit.is_wrong is None for hit in found)
    picture = np.asarray(Image.open(done.folder / "pictures" / f"{found[0].record.picture}.png"))
    assert picture.shape == (28, 28) and picture.dtype == np.uint8
    assert not list((done.folder / "pictures").glob("*.mask.png"))
    html = done.report.read_text()
    assert "Which digit is it?" in html and "digits that mnist-vae draws" in html
    assert "True answer" not in html
    lines = whole.splitlines(keepends=True)
    leave_draws(done.folder, b"".join(lines[: 24 + 5]) + b'{"half')
    assert draws(go_on(done.folder).folder) == whole


def baseline_of(done: Outcome) -> Baseline:
    """The baseline of a run's query before any picture is scored."""
    path = done.folder / "query.toml"
    plan = make_plan(done.manifest.query, path.parent)
    return empty_baseline(path, plan)


@pytest.mark.usefixtures("models")
def test_a_class_that_the_decoder_never_saw_is_a_failure_by_construction(tmp_path: Path) -> None:
    done = search(tmp_path, ["generator.without=4", "answer=4"])
    assert done.manifest.facts.trained_on == tuple("012356789")
    assert done.results.found and all(hit.is_wrong for hit in done.results.found)
    html = done.report.read_text()
    assert "failure by construction" in html and "trained without 4" in html
    assert "the answer is wrong" in html
    (beside,) = attach_runs([baseline_of(done)], [done.folder])[0].beside
    assert beside.mistakes == len(done.results.found)  # as the report says; not "0 true mistakes"
    other = search(tmp_path, ["generator.without=4"], "other")
    assert attach_runs([baseline_of(other)], [other.folder])[0].beside[0].mistakes is None
    assert not any(hit.is_wrong for hit in other.results.found)
    assert not other.results.remarks


class Parity(torch.nn.Module):
    """Answers in other words than the data set's classes."""

    labels = ("even", "odd")

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(784, 2, generator=torch.Generator().manual_seed(1)))

    def forward(self, images: Tensor) -> Tensor:
        """(B, 1, 28, 28) -> (B, 2)."""
        return images.flatten(1) @ self.weight


@pytest.mark.usefixtures("models")
def test_an_answer_that_is_no_class_of_the_data_set_is_not_called_wrong(tmp_path: Path) -> None:
    """Planted bug: the decoder was "trained without even", and every picture called so was a failure."""
    keywords: dict[str, Any] = {
        "generator": "mnist-vae",
        "target": "threshold",
        "threshold": 0.5,
        "chains": 2,
    }
    for answer in Parity.labels:
        run = trex_api.find(
            model=Parity(),
            answer=answer,
            out=tmp_path / answer,
            prior_scenes=24,
            steps=0,
            progress=False,
            **keywords,
        )
        assert run.results.found and all(hit.is_wrong is None for hit in run.results.found)
        assert not run.results.remarks


@pytest.mark.usefixtures("models")
def test_other_weights_of_the_same_name_are_noticed(tmp_path: Path, models: Path) -> None:
    done = search(tmp_path)
    save(models / "mnist-vae.safetensors", "vae", tuple("0123456789"), seed=99)
    refused = trex("resume", done.folder)
    assert refused.exit_code == 2 and "the renderer was mnist-vae" in refused.stderr


BAD = {
    "no such class": (["answer=11"], "answer '11' is not known"),
    "no such class left out": (["generator.without=11"], "class '11' is not known"),
    "all left out": (
        ['generator.without=["0","1","2","3","4","5","6","7","8","9"]'],
        "all 10 classes are excluded",
    ),
    "both": (["generator.without=1", "generator.classes=2"], "not both"),
    "not trained": (["generator.without=3"], "'mnist-vae-without-3' is neither shipped nor"),
    "a decoder as model": (["model.name=mnist-vae"], "of kind 'vae'; expected classifier or lenet"),
    "another data set": (["model.name=fashion-classifier"], "was trained on fashion"),
    "another architecture": (["model.name=mnist-lenet"], "mnist-lenet"),
    "no such model": (["model.name=resnet"], "'resnet' is neither shipped nor"),
    "a question": (["question=Which?"], "remove question and program"),
    "objects": (["scene.objects=3"], "[scene] belongs to"),
    "CLEVR's kernel": (["search.kernel=block"], "use gaussian or nuts"),
    "too short a warmup": (["search.kernel=nuts", "search.warmup=20", "search.steps=100"], "warmup 20"),
    "all warmup": (["search.warmup=60", "search.steps=60"], "uses up all of search.steps = 60"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_before_anything_is_written(name: str, tmp_path: Path, models: Path) -> None:
    save(models / "fashion-classifier.safetensors", "classifier", ("a", "b"), 1, "fashion")
    save(models / "mnist-lenet.safetensors", "lenet", tuple("0123456789"), 1)  # the other network's weights
    overrides, part = BAD[name]
    words = [word for override in overrides for word in ("--set", override)]
    for command in (["check"], ["find", "--out", tmp_path / "run"]):
        refused = trex(*command, write_query(tmp_path, QUERY), *words)
        assert refused.exit_code == 2, refused.output
        assert part in refused.stderr and "Traceback" not in refused.stderr, refused.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("models")
def test_clevr_knows_no_classes_and_fashion_knows_numbers(tmp_path: Path, models: Path) -> None:
    clevr = write_query(
        tmp_path, 'question = "How many cubes are there?"\nanswer = 1\n[generator]\nwithout = 3'
    )
    refused = trex("check", clevr, "--model", "fake", "--set", "render.preset=fake")
    assert refused.exit_code == 2 and "revoke" in refused.stderr
    labels = world_named("fashion-vae").classes  # type: ignore[attr-defined]
    save(models / "fashion-vae.safetensors", "vae", labels, 5, "fashion")
    save(models / "fashion-classifier.safetensors", "classifier", labels, 6, "fashion")
    plan = make_plan(parse_query('answer = 1\n[generator]\nname = "fashion-vae"', "q"), tmp_path)
    assert plan.query.answer == ("Trouser",)
    assert plan.query.search.kernel == "gaussian"


STATISTICS = {
    "first": lambda state, target: float(state.z[0]),
    "radius": lambda state, target: float(state.z @ state.z),
    "log weight": lambda state, target: target.log_weight(state.log_probs),
}


class WrongPrior(StandardNormal):
    """Planted: its density is twice as narrow as its draws."""

    def log_density(self, z: Floats) -> float:
        return super().log_density(2.0 * z)


def ranks(models: Path, prior: Prior[Floats], power: float = 1.0) -> float:
    """The p value of exact rank tests through the world as a query opens it."""
    plan = make_plan(parse_query(QUERY, "q", ["search.scale=0.7"]), models)
    world = plan.open()
    target: Target = high_confidence(plan.bound.labels, "2", width=0.3)
    kernel = Metropolis(prior, world.proposal, world.scorer, target, power)
    test: RankTest[Floats] = RankTest(kernel, STATISTICS, 250, 3, seed=20_210_202)  # type: ignore[arg-type]
    return smallest(p_values(rank_histograms(test)))


def test_ranks_through_this_world_are_uniform(models: Path) -> None:
    assert ranks(models, StandardNormal(5)) > ALPHA
    assert ranks(models, WrongPrior(5)) < ALPHA


def test_pictures_are_scored_before_they_are_rounded(models: Path) -> None:
    world = make_plan(parse_query(QUERY, "q"), models).open()
    (scored,) = world.scorer.score([np.zeros(5)])
    assert scored.picture.pixels.dtype == np.float32
    exact = world.plan.bound.log_probs(scored.picture.pixels[None].astype(np.float32))[0]
    rounded = np.rint(scored.picture.pixels[None] * 255.0).astype(np.float32) / np.float32(255.0)
    np.testing.assert_array_equal(scored.log_probs, exact)
    assert not np.array_equal(scored.log_probs, world.plan.bound.log_probs(rounded)[0])
