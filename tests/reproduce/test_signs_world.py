"""Queries of traffic signs: on random networks, so without data or trained weights, from check to report."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from reproduce.experiments.experiment_file import QUERIES
from tests.running.command_line import trex
from tests.running.digit_runs import QUERY
from tests.running.runs import draws, find, go_on, leave_draws, write_query
from trex.artifacts.weights import compact, write_safetensors
from trex.mnist_models import load
from trex.mnist_models.datasets import DATASETS
from trex.mnist_models.load import model_name
from trex.mnist_models.networks.autoencoders import BetaVae
from trex.mnist_models.networks.classifiers import ResNet18
from trex.query.toml_file import parse_query
from trex.repair.settings import chosen_table, repair_path, repair_query
from trex.worlds.registry import WORLDS, WorldEntry, make_plan, world_named
from trex.worlds.shipped.digits import _world

SIGNS = QUERY.replace("mnist-vae", "signs-beta-vae").replace('answer = "2"', "answer = 14")
LATENT = 6


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A decoder and two classifiers of signs, where models that were trained here lie."""
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(load, "SHIPPED", tmp_path / "nothing is shipped")
    # As in a process that offers the data set before it imports the worlds.
    monkeypatch.setitem(WORLDS.ours, "signs-beta-vae", WorldEntry("signs-beta-vae", _world))
    place, described = load.trained_models(), DATASETS["signs"]
    place.mkdir(parents=True)
    torch.manual_seed(1)
    decoder, wide, narrow = BetaVae(described.picture, LATENT), ResNet18(43), ResNet18(43, width=16)
    with torch.no_grad():
        decoder.decoder.layers[-1].weight.mul_(40.0)
        narrow.answer.weight.mul_(30.0)
    kinds: tuple[tuple[str, nn.Module], ...] = (
        ("beta-vae", decoder),
        ("resnet18", wide),
        ("resnet18-16", narrow),
    )
    for kind, module in kinds:
        card = {"kind": kind, "dataset": "signs", "labels": list(described.labels), "picture": [32, 32, 3]}
        write_safetensors(place / f"signs-{kind}.safetensors", compact(module), card | {"latent": LATENT})
    return place


@pytest.mark.usefixtures("models")
def test_a_search_of_signs_is_kept_in_color_reported_and_resumed(tmp_path: Path) -> None:
    query = write_query(tmp_path, SIGNS.replace("0.5\n", "0.001\n"))
    done = find(query, ["model.name=signs-resnet18-16"], tmp_path / "run")
    assert done.manifest.query.answer == ("Stop",)  # class 14
    whole = draws(done.folder)
    pictures = [np.asarray(Image.open(path)) for path in (done.folder / "pictures").glob("*.png")]
    assert pictures and {picture.shape for picture in pictures} == {(32, 32, 3)}
    html = done.report.read_text()
    assert "Which traffic sign is it?" in html and "traffic signs that signs-beta-vae draws" in html
    lines = whole.splitlines(keepends=True)
    leave_draws(done.folder, b"".join(lines[: 24 + 5]) + b'{"half')
    assert draws(go_on(done.folder).folder) == whole


@pytest.mark.usefixtures("models")
def test_gradients_are_of_the_density_that_pictures_are_scored_by(tmp_path: Path) -> None:
    """ "nuts" sees the same function as the other kernels, and it is smooth in every latent."""
    world = world_named("signs-beta-vae")
    query = parse_query(SIGNS, "q")
    parts = world.load(query)
    assert parts.model_name == "signs-resnet18" and parts.size == (
        32,
        32,
    )  # "shipped" is the published network
    z = torch.randn(3, LATENT, dtype=torch.float64, requires_grad=True)
    message = parts.differentiable(z)
    pictures = np.stack([item.pixels for item in parts.renderer.render(list(z.detach().numpy()))])
    assert message.detach().numpy() == pytest.approx(parts.classifier.log_probs(pictures), abs=1e-4)
    (gradient,) = torch.autograd.grad(message[:, 14].sum(), z)
    assert bool((gradient != 0).all()) and bool(torch.isfinite(gradient).all())
    assert make_plan(query, tmp_path).query.answer == ("Stop",)


@pytest.mark.usefixtures("models")
def test_models_of_other_pictures_are_refused(tmp_path: Path) -> None:
    query = write_query(tmp_path, SIGNS)
    refused = trex("check", query, "--set", "model.name=mnist-classifier")
    assert refused.exit_code == 2 and "'mnist-classifier' is neither shipped nor" in refused.stderr
    refused = trex("check", query, "--set", "generator.name=signs-gan")
    assert refused.exit_code == 2 and "signs-gan" in refused.stderr
    refused = trex("check", query, "--set", "generator.without=Stop")
    assert refused.exit_code == 2 and "signs-beta-vae-without-14" in refused.stderr


CHECK = ("check", "mnist_1_or_7", "--set", "generator.name=signs-beta-vae", "--set", 'answer="Stop"')
ANSWERS = {  # what a command says of the world of signs, whose decoder was not trained
    "trex": "use clevr",
    "reproduce trex": "digit model 'signs-beta-vae' is neither shipped nor in",
}


@pytest.mark.process
@pytest.mark.parametrize("command", ANSWERS)
def test_the_world_of_signs_is_known_to_trex_of_the_checkout_alone(command: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", *command.split(), *CHECK]
    environment = os.environ | {"TREX_CACHE": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert done.returncode == 2 and ANSWERS[command] in done.stderr, done.stderr
    assert command != "trex" or "`python -m reproduce trex` also has signs and svhn" in done.stderr


REPAIRS = QUERIES / "repair"


def test_the_repair_with_the_papers_numbers_has_them() -> None:
    """Slack et al. 2021, section 4 and appendix A: MNIST."""
    query = repair_query(chosen_table(repair_path(str(REPAIRS / "mnist-paper.toml")), ())[1], "mnist-paper")
    identify, distill, label, correct = query.identify, query.distill, query.label, query.correct
    assert (identify.noise, identify.concentration, identify.draws, identify.cap) == (
        "printed",
        50.0,
        500,
        100,
    )
    assert identify.most == 50_000 and identify.seeds + identify.validation == 60_000
    assert (distill.of, distill.components, distill.cutoff, distill.iterations) == ("all", 100, 0.01, 10_000)
    assert (label.pictures, label.tau) == (10, 0.5)
    published = [10.0**k for k in range(-10, 0)] + [1.0, 2.0, 5.0, 10.0, 20.0, 100.0, 1000.0]
    assert correct.lambdas[0] == 0.0 and correct.lambdas[1:] == pytest.approx(published, rel=1e-12)
    assert len(published) == 17
    assert (correct.epochs, correct.batch, correct.rate, correct.pictures) == (3, 256, 1e-3, 256)
    assert (correct.select, correct.epoch, correct.purity, correct.training) == ("printed", "best", 0.0, None)
    assert query.generator.name == model_name("beta-vae", "mnist", tuple(range(10)), 10)


def test_the_repair_of_signs_names_models_that_the_commands_train_and_tracks_that_are_held_out() -> None:
    query = repair_query(chosen_table(repair_path(str(REPAIRS / "signs.toml")), ())[1], "signs")
    names = {model_name(kind, "signs", tuple(range(43)), 43) for kind in ("beta-vae", "resnet18-16")}
    assert {query.generator.name, query.model.name} == names
    assert query.identify.validation <= 2610  # frames of 261 held-out tracks
    assert 0.0 in query.correct.lambdas and query.correct.seeds >= 3
