"""The pair of networks that is kept here, and the experiments that search their level sets."""

from __future__ import annotations

import shlex

import pytest
import torch
import typer
from typer.core import TyperGroup

from reproduce.adaptation.train import WEIGHTS
from reproduce.commands.adaptation import ADDA
from reproduce.experiments.experiment_file import QUERIES, cells, read_experiment
from tests.references.official_clevr import data_file
from trex.artifacts.card import read_card
from trex.commands.training import TRAIN
from trex.mnist_models.datasets import load_data
from trex.mnist_models.load import load_classifier
from trex.mnist_models.training.quality import classifier_figures
from trex.worlds.query_plan import check

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
    asked = set()
    for cell in cells(experiment):
        query = check(path.parent / experiment.query, cell.ways[0]).query
        asked.add((query.model.name, *query.answer))
        assert query.generator.name == "mnist-gan" and not cell.section.published
    assert asked == {(name, str(digit)) for name in PAIR for digit in range(10)}


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
        for words in (*experiment.train, *(w for one in experiment.cells for w in one.train)):
            name, *rest = shlex.split(words)
            commands[name].make_context(name, rest)  # a usage error if a word is not known
