"""`python -m reproduce adda`: the same bits after a kill, no label of the target read, a card that tells the truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from reproduce.adaptation.options import AdaptationPlan
from reproduce.adaptation.train import Pair, read_lenet, train_pair
from reproduce.datasets import typeset
from reproduce.datasets.domains import optdigits
from tests.reproduce.command_line import reproduce, reproduced
from tests.running.command_line import refused
from tests.worlds.mnist_worlds import N_TRAIN, idx_bytes, write_data
from trex.artifacts.card import card_path, read_card
from trex.foundation.errors import InputError, RunError
from trex.mnist_models.datasets import load_data
from trex.mnist_models.load import load_classifier
from trex.mnist_models.training import loop as training
from trex.mnist_models.training.quality import classifier_figures

pytestmark = pytest.mark.usefixtures("one_thread", "few_typeset")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("digits"))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def few_typeset(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setenv("TREX_CACHE", str(cache))
    monkeypatch.setattr(typeset, "SIZES", {"train": 80, "test": 30})


def plan(folder: Path, /, **changes: Any) -> AdaptationPlan:
    given = {
        "source": "typeset",
        "source_steps": 6,
        "steps": 5,
        "batch_size": 16,
        "device": "cpu",
        "data": folder,
    }
    return AdaptationPlan.checked(given | changes)


def hashes(pair: Pair) -> tuple[object, object]:
    return read_card(pair.source)["sha256"], read_card(pair.adapted)["sha256"]


class _Killed(Exception):
    pass


def killed_after(
    monkeypatch: pytest.MonkeyPatch, given: AdaptationPlan, out: Path, step: int, total: int
) -> None:
    """Die after this step of the training of so many steps, the checkpoint of the last whole one on the disk."""

    def dies(what: str, *counts: object) -> None:
        if counts[:2] == (step, total):
            raise _Killed

    with monkeypatch.context() as patch:
        patch.setattr(training, "CHECKPOINT_S", -1.0)
        with pytest.raises(_Killed):
            train_pair(given, out, dies)


def test_killed_in_either_training_it_resumes_to_the_same_weights(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = plan(folder)
    unbroken = hashes(train_pair(given, tmp_path / "unbroken"))
    torch.manual_seed(99)
    killed_after(monkeypatch, given, tmp_path / "broken", 4, 6)
    assert not list((tmp_path / "broken").glob("*.json"))
    killed_after(monkeypatch, given, tmp_path / "broken", 3, 5)
    steps: list[int] = []
    pair = train_pair(given, tmp_path / "broken", lambda _, step, *facts: steps.append(step))
    assert steps == [4, 5] and hashes(pair) == unbroken
    assert sorted(path.name for path in (tmp_path / "broken").iterdir()) == [
        "typeset-mnist-adda-1.json",
        "typeset-mnist-adda-1.safetensors",
        "typeset-source-1.json",
        "typeset-source-1.safetensors",
    ]


def test_the_seed_decides_the_weights_and_a_finished_pair_is_kept(folder: Path, tmp_path: Path) -> None:
    first = hashes(train_pair(plan(folder), tmp_path / "a"))
    assert hashes(train_pair(plan(folder), tmp_path / "b")) == first
    other = hashes(train_pair(plan(folder, seed=2), tmp_path / "a"))
    assert not set(other) & set(first)

    def never(*_: object) -> None:
        raise AssertionError("trained again")

    assert hashes(train_pair(plan(folder), tmp_path / "a", never)) == first
    for changes in ({"source_steps": 7}, {"steps": 6}):
        with pytest.raises(RunError, match="trained with other settings"):
            train_pair(plan(folder, **changes), tmp_path / "a", never)
    control = train_pair(plan(folder, domain_labels="shuffled"), tmp_path / "a")
    assert control.adapted.stem == "typeset-mnist-adda-shuffled-1" and hashes(control)[1] != first[1]


def test_labels_of_the_target_are_never_read(folder: Path, tmp_path: Path) -> None:
    """Other labels, the same weights. Control: other labels of the source change the source network."""
    first = hashes(train_pair(plan(folder), tmp_path / "a"))
    other = write_data(tmp_path / "other")
    file = other / "MNIST" / "raw" / "train-labels-idx1-ubyte.gz"
    file.write_bytes(idx_bytes(np.full(N_TRAIN, 3, np.uint8)))
    pair = train_pair(plan(other), tmp_path / "b")
    assert hashes(pair) == first
    both = [
        hashes(train_pair(plan(place, source="mnist", target="typeset"), tmp_path / name))
        for name, place in (("c", folder), ("d", other))
    ]
    assert both[0][0] != both[1][0]


def test_the_card_says_what_it_was_trained_on_and_asked_about(folder: Path, tmp_path: Path) -> None:
    pair = train_pair(plan(folder, adversary_at="features"), tmp_path)
    source, adapted = (json.loads(card_path(path).read_text()) for path in (pair.source, pair.adapted))
    assert source["trained_on"] == "typeset with labels" and source["dataset"] == "mnist"
    assert adapted["trained_on"] == "typeset with labels; mnist without labels"
    assert adapted["parameters"] == 431_080 and adapted["settings"]["start"] == source["sha256"]
    assert adapted["command"] == (
        "python -m reproduce adda --source typeset --target mnist --seed 1 --adversary-at features --source-steps 6 "
        "--steps 5 --batch-size 16 --device cpu --threads 1"
    )
    loaded, test = load_classifier(str(pair.adapted)), load_data("mnist", "test", folder)
    assert loaded.dataset == "mnist" and loaded.labels == tuple("0123456789")
    assert adapted["figures"]["mnist test"] == classifier_figures(loaded.module, test, torch.device("cpu"))
    assert set(adapted["figures"]) == {"typeset test", "mnist test", "mnist train"}
    card_path(pair.source).write_text(json.dumps(source | {"trained_on": 3}))
    with pytest.raises(InputError, match="has no text under trained_on"):
        load_classifier(str(pair.source))


def test_the_card_has_the_accuracy_on_a_target_that_is_not_mnist(folder: Path, tmp_path: Path) -> None:
    """Planted bug: both splits of MNIST alone, although the networks were adapted to another target."""
    pair = train_pair(plan(folder, source="mnist", target="optdigits"), tmp_path)
    figures = json.loads(card_path(pair.adapted).read_text())["figures"]
    assert list(figures) == ["mnist test", "optdigits test", "optdigits train", "mnist train"]
    module, test = load_classifier(str(pair.adapted)).module, optdigits("test")
    assert figures["optdigits test"] == classifier_figures(module, test, torch.device("cpu"))


def test_the_adaptation_starts_with_the_source_weights_as_saved(folder: Path, tmp_path: Path) -> None:
    """With steps that move nothing, the adapted network is the source network."""
    pair = train_pair(plan(folder, steps=1), tmp_path)
    source, adapted = (read_lenet(path, 10).state_dict() for path in (pair.source, pair.adapted))
    largest = max(float((source[name] - adapted[name]).abs().max()) for name in source)
    assert 0 < largest < 5e-4  # Adam's first step moves no weight by more than its rate, 2e-4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source": "mnsit"}, "source domain 'mnsit' is not known .*did you mean 'mnist'"),
        ({"target": "upsp"}, "target domain 'upsp'"),
        ({"target": "usps"}, r"has no zip\.train or zip\.train\.gz"),
        ({"source": "svhn"}, r"has no train_32x32\.mat"),
        ({"adversary_at": "pixels"}, "view of the adversary 'pixels'"),
        ({"domain_labels": "none"}, "kind of domain labels 'none'"),
        ({"steps": 0}, "steps 0: give 1 to"),
        ({"source_steps": 10**30}, "source_steps 1"),
        ({"seed": -1}, "seed -1: give 0 to"),
        ({"threads": 10**30}, "threads 1"),
        ({"batch_size": 70}, "60 pictures do not fill one batch of 70"),
        ({"device": "tpu"}, "device 'tpu'"),
    ],
)
def test_what_cannot_be_trained_is_refused_first(
    folder: Path, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        train_pair(plan(folder, **changes), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_trains_and_tells_both_networks(folder: Path, tmp_path: Path) -> None:
    words = ["adda", "--source", "typeset", "--data", folder, "--device", "cpu", "--source-steps", 6,
             "--steps", 5, "--batch-size", 16, "--out", tmp_path, "--json"]  # fmt: skip
    message = json.loads(reproduced(*words).stdout)
    assert message["adapted"]["weights"] == str(tmp_path / "typeset-mnist-adda-1.safetensors")
    assert message["source"]["figures"]["typeset test"]["n"] == 30
    refused(reproduce("adda", "--source", "svhn", "--data", folder, "--out", tmp_path), "train_32x32.mat")
