"""The game of ADDA: each loss has its sign, and each player moves only its own weights."""

from __future__ import annotations

import copy
import shlex

import numpy as np
import pytest
import torch
import typer
from typer.core import TyperGroup

from reproduce.adaptation import adversarial
from reproduce.adaptation.adversarial import (
    VIEWS,
    Adversary,
    adaptation_training,
    adversary_loss,
    mapping_loss,
    true_domains,
    view,
)
from reproduce.adaptation.settings import AdaptationSettings
from reproduce.adaptation.train import WEIGHTS, penalty
from reproduce.commands.adaptation import ADDA
from reproduce.experiments.experiment_file import QUERIES, cells, read_experiment
from tests.references.official_clevr import data_file
from trex.artifacts.card import read_card
from trex.commands.training import TRAIN
from trex.mnist_models.datasets import load_data
from trex.mnist_models.load import load_classifier
from trex.mnist_models.networks.classifiers import LeNet
from trex.mnist_models.training.loop import Batch, Training
from trex.mnist_models.training.quality import classifier_figures
from trex.worlds.registry import check

pytestmark = pytest.mark.usefixtures("one_thread")

B = 16


def settings(adversary_at: str = "logits", domain_labels: str = "true") -> AdaptationSettings:
    return AdaptationSettings(
        model="lenet",
        dataset="made",
        data="",
        classes=tuple("0123456789"),
        seed=1,
        epochs=1,
        batch_size=B,
        device="cpu",
        threads=1,
        steps=10,
        target="made too",
        target_data="",
        start="",
        adversary_at=adversary_at,
        domain_labels=domain_labels,
    )


def source_network() -> LeNet:
    torch.manual_seed(3)
    return LeNet(10)


# each domain is one picture again and again, so that it does not matter which are drawn
SOURCE = torch.zeros(B, 1, 28, 28)
SOURCE[:, :, 5:20, 10:14] = 1.0
TARGET = np.full((40, 28, 28), 90, np.uint8)


def training_of(**changes: str) -> tuple[Training, LeNet]:
    source = source_network()
    return adaptation_training(settings(**changes), source, TARGET), source


def step(training: Training, n: int = 1) -> dict[str, float]:
    torch.manual_seed(7)
    losses = {}
    for _ in range(n):
        losses = training.step(Batch(SOURCE, torch.zeros(B, dtype=torch.int64), 0.0))
    return {name: float(value.detach()) for name, value in losses.items()}


def test_the_adversary_wins_by_the_truth_and_the_mapping_by_its_contrary() -> None:
    domains = true_domains(2, 3)
    assert domains.tolist() == [0, 0, 1, 1, 1]
    seen_through = torch.stack([5.0 - 10.0 * domains, 10.0 * domains - 5.0], dim=1)  # certain, and right
    assert adversary_loss(seen_through, domains) < 0.01 < 9.0 < mapping_loss(seen_through, domains)
    assert mapping_loss(-seen_through, domains) < 0.01 < 9.0 < adversary_loss(-seen_through, domains)
    torn = torch.zeros(5, 2)
    assert (
        float(mapping_loss(torn, domains)) == pytest.approx(np.log(2)) == float(adversary_loss(torn, domains))
    )


def changes_by_one_step(training: Training, source: LeNet) -> tuple[float, float]:
    """By how much the adversary's step changes its loss, and the target network's step its own, the other at rest."""
    network, adversary = (
        copy.deepcopy(training.modules["model"]),
        copy.deepcopy(training.modules["adversary"]),
    )
    before = losses_of(network, adversary, source)
    step(training)
    after_judging = losses_of(network, training.modules["adversary"], source)
    after_mapping = losses_of(training.modules["model"], adversary, source)
    return after_judging[0] - before[0], after_mapping[1] - before[1]


def losses_of(network: torch.nn.Module, adversary: torch.nn.Module, source: LeNet) -> tuple[float, float]:
    assert isinstance(network, LeNet)
    with torch.no_grad():
        images = torch.from_numpy(TARGET[:B, None] / np.float32(255.0))
        judged = adversary(torch.cat([view(source, SOURCE, "logits"), view(network, images, "logits")]))
    domains = true_domains(B, B)
    return float(adversary_loss(judged, domains)), float(mapping_loss(judged, domains))


def test_each_player_improves_its_own_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: with labels not inverted the target network helps the adversary; with its own inverted, it loses."""
    judging, mapping = changes_by_one_step(*training_of())
    assert judging < 0 and mapping < 0
    with monkeypatch.context() as patch:
        patch.setattr(adversarial, "mapping_loss", adversary_loss)
        assert changes_by_one_step(*training_of())[1] > 0
    with monkeypatch.context() as patch:
        patch.setattr(adversarial, "adversary_loss", mapping_loss)
        assert changes_by_one_step(*training_of())[0] > 0


def test_the_source_network_stays_and_the_whole_target_network_moves() -> None:
    training, source = training_of()
    begun = copy.deepcopy(source.state_dict())
    assert same(training.modules["model"].state_dict(), begun)  # a copy to begin with
    step(training, 3)
    assert same(source.state_dict(), begun) and not any(
        parameter.requires_grad for parameter in source.parameters()
    )
    moved = training.modules["model"].state_dict()
    assert not any(torch.equal(moved[name], begun[name]) for name in begun)  # the last layer too


def test_at_the_features_the_last_layer_stays() -> None:
    training, source = training_of(adversary_at="features")
    step(training, 3)
    moved, begun = training.modules["model"].state_dict(), source.state_dict()
    for name in begun:
        assert torch.equal(moved[name], begun[name]) == name.startswith("answer"), name
    first = next(training.modules["adversary"].parameters())
    assert first.shape == (500, VIEWS["features"]) and VIEWS == {"logits": 10, "features": 500}


def test_from_shuffled_domains_nothing_is_learned() -> None:
    """True labels of domains that differ clearly are told apart before the target network has closed the gap."""
    apart = {kind: told_apart(kind) for kind in ("true", "shuffled")}
    assert apart["true"] > 0.9 and apart["shuffled"] < 0.75, apart


def told_apart(domain_labels: str) -> float:
    training, _ = training_of(domain_labels=domain_labels)
    for optimizer in (training.optimizers["mapping"],):
        optimizer.param_groups[0]["lr"] = 0.0  # the target network at rest
    torch.manual_seed(7)
    shares = []
    for _ in range(120):
        shares.append(
            float(training.step(Batch(SOURCE, torch.zeros(B, dtype=torch.int64), 0.0))["told apart"])
        )
    return float(np.mean(shares[-20:]))


def test_the_adversary_has_two_hidden_layers_of_500() -> None:
    shapes = [tuple(parameter.shape) for parameter in Adversary(10).parameters()]
    assert shapes == [(500, 10), (500,), (500, 500), (500,), (2, 500), (2,)]


def test_the_penalty_is_half_the_squares_of_weights_alone() -> None:
    layer = torch.nn.Linear(2, 1)
    torch.nn.init.constant_(layer.weight, 2.0)
    torch.nn.init.constant_(layer.bias, 100.0)
    assert float(penalty(layer.parameters()).detach()) == pytest.approx(2.5e-5 * 4.0)


def same(tensors: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(tensors[name], other[name]) for name in other)


PAIR = ("typeset-source-1", "typeset-mnist-adda-1")


def test_the_adapted_network_belongs_to_the_source_network() -> None:
    source, adapted = (read_card(WEIGHTS / f"{name}.safetensors") for name in PAIR)
    settings = adapted["settings"]
    assert isinstance(settings, dict) and settings["start"] == source["sha256"]
    assert adapted["command"] == source["command"]
    assert (source["trained_on"], adapted["trained_on"]) == (
        "typeset with labels",
        "typeset with labels; mnist without labels",
    )
    for name in PAIR:
        assert (WEIGHTS / f"{name}.safetensors").stat().st_size < 1_000_000


@pytest.mark.parametrize("name", PAIR)
def test_its_card_tells_the_truth(name: str) -> None:
    """On another machine the last bits of a sum may turn an answer that is torn."""
    test = load_data("mnist", "test", data_file("MNIST").parent)
    found = classifier_figures(load_classifier(name).module, test, torch.device("cpu"))
    figures = read_card(WEIGHTS / f"{name}.safetensors")["figures"]
    assert isinstance(figures, dict)
    assert abs(int(str(found["right"])) - figures["mnist test"]["right"]) <= 3


def test_the_experiment_of_this_pair_has_a_query_for_each_network_and_digit() -> None:
    path = QUERIES / "adda-typeset.toml"
    experiment = read_experiment(path)
    request = set()
    for cell in cells(experiment):
        query = check(path.parent / experiment.query, cell.ways[0]).query
        request.add((query.model.name, *query.answer))
        assert query.generator.name == "mnist-gan" and not cell.section.published
    assert request == {(name, str(digit)) for name in PAIR for digit in range(10)}


def test_the_experiment_of_svhn_has_the_published_values() -> None:
    """Bayes-TrEx prints a mean of .99 for its adapted network and none for the other."""
    found = {cell.name: cell.section for cell in cells(read_experiment(QUERIES / "adda-svhn.toml"))}
    adapted = [found[f"adapted {digit}"].published[0] for digit in range(10)]
    assert sum(adapted) == pytest.approx(9.96) and found["adapted 4"].published == (0.997,)
    assert not any(found[f"source {digit}"].published for digit in range(10))


def test_what_the_experiments_train_first_is_a_command() -> None:
    group, single = typer.main.get_command(TRAIN), typer.Typer()
    assert isinstance(group, TyperGroup)
    single.command()(ADDA)
    commands = {**group.commands, "adda": typer.main.get_command(single)}
    for path in QUERIES.glob("*.toml"):
        experiment = read_experiment(path)
        for words in (*experiment.train, *(w for cell in experiment.cells for w in cell.train)):
            name, *texts = shlex.split(words)
            commands[name].make_context(name, texts)  # a usage error if a word is not known
