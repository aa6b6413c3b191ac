"""Training: the same bits after a kill, a card that tells the truth, and refusals before anything is trained."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from tests.worlds.mnist_worlds import N_TEST, write_data
from trex.artifacts import checkpoint as checkpoint_module
from trex.artifacts.card import card_path, read_card
from trex.artifacts.checkpoint import load_checkpoint, save_checkpoint
from trex.foundation.errors import InputError, RunError
from trex.mnist_models.datasets import load_data
from trex.mnist_models.load import load_classifier, model_name
from trex.mnist_models.training import loop as training
from trex.mnist_models.training.options import BetaVaePlan, Plan
from trex.mnist_models.training.quality import classifier_figures
from trex.mnist_models.training.train import train

pytestmark = pytest.mark.usefixtures("one_thread")

BATCH = {
    "classifier": 20,
    "lenet": 20,
    "ambiguous": 20,
    "vae": 20,
    "gan": 6,
    "resnet18-16": 20,
    "beta-vae": 20,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("digits"))


def plan(folder: Path, out: Path, kind: str, /, **changes: object) -> Plan:
    of = BetaVaePlan if kind == "beta-vae" else Plan
    given = {
        "dataset": "mnist",
        "epochs": 2,
        "batch_size": BATCH[kind],
        "device": "cpu",
        "data": folder,
        "out": out,
    }
    if kind == "gan":
        given["classes"] = ("0", "1")  # 12 pictures: 2 steps an epoch
    return of.checked(given | changes)


class _Killed(Exception):
    pass


def killed_after(monkeypatch: pytest.MonkeyPatch, kind: str, given: Plan, steps: int) -> None:
    """Run, and die after so many steps, the checkpoint of the last whole one on the disk."""

    def dies(step: str, done: int, *_: object) -> None:
        if done == steps:
            raise _Killed

    with monkeypatch.context() as patch:
        patch.setattr(training, "CHECKPOINT_S", -1.0)
        with pytest.raises(_Killed):
            train(kind, given, dies)
    assert given.out is not None and not list(given.out.glob("*.json"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classifier", "vae", "gan", "resnet18-16", "beta-vae"])
def test_a_killed_training_goes_on_to_the_same_weights(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    unbroken = read_card(train(kind, plan(folder, tmp_path / "unbroken", kind)))
    torch.manual_seed(99)  # whatever state the caller is in
    broken = plan(folder, tmp_path / "broken", kind)
    killed_after(monkeypatch, kind, broken, 3)
    steps: list[int] = []
    resumed = train(kind, broken, lambda _, step, *facts: steps.append(step))
    assert steps[0] == 4  # it did go on, and did not begin anew
    assert read_card(resumed)["sha256"] == unbroken["sha256"]
    assert sorted(path.suffix for path in resumed.parent.iterdir()) == [".json", ".safetensors"]
    with monkeypatch.context() as patch:  # planted: the optimizer's moments are forgotten
        patch.setattr(checkpoint_module, "fill_optimizer", lambda *_: None)
        forgetting = plan(folder, tmp_path / "forgetful", kind)
        killed_after(monkeypatch, kind, forgetting, 3)
        forgetful = train(kind, forgetting)
    assert read_card(forgetful)["sha256"] != unbroken["sha256"]


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 19])
def test_the_last_step_leaves_a_checkpoint_whatever_their_number(
    steps: int, folder: Path, tmp_path: Path
) -> None:
    """Planted bug: (n - 1) / n was compared with 1 - 1 / n, which rounds to another number for n = 3, 7 and 19."""
    data, path = load_data("mnist", "train", folder), tmp_path / "checkpoint.safetensors"
    model = torch.nn.Linear(1, 1)
    job = training.Training({"model": model}, {}, lambda _: {})
    settings = training.Settings(
        "line", "mnist", data.sha256, data.names, 1, steps, len(data.images), "cpu", 1
    )
    training.fit(lambda: job, data, settings, path)
    assert load_checkpoint(path, job.modules, job.optimizers, asdict(settings), steps) == steps


def test_training_leaves_the_callers_random_state_and_threads_alone(folder: Path, tmp_path: Path) -> None:
    torch.manual_seed(5)
    state = torch.get_rng_state()
    train("vae", plan(folder, tmp_path, "vae", epochs=1, threads=2))
    assert torch.equal(torch.get_rng_state(), state) and torch.get_num_threads() == 1


def test_a_finished_training_is_not_repeated_nor_overwritten(folder: Path, tmp_path: Path) -> None:
    given = plan(folder, tmp_path, "vae", epochs=1)
    path = train("vae", given)
    before = path.read_bytes()

    def never(*_: object) -> None:
        raise AssertionError("trained again")

    assert train("vae", given, never) == path
    with pytest.raises(RunError, match="trained with other settings"):
        train("vae", given.changed(seed=2), never)
    assert path.read_bytes() == before
    card_path(path).unlink()  # killed between weights and card
    assert train("vae", given).read_bytes() == before and card_path(path).exists()


def test_a_checkpoint_of_other_settings_or_a_damaged_one_is_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = plan(folder, tmp_path, "vae")
    killed_after(monkeypatch, "vae", given, 2)
    with pytest.raises(RunError, match=r"other settings .seed 1, not 2.; choose another folder"):
        train("vae", given.changed(seed=2))
    (path,) = tmp_path.glob("*.safetensors")
    whole = path.read_bytes()
    for kept in (0, 7, 100, len(whole) - 1):
        path.write_bytes(whole[:kept])
        with pytest.raises(RunError, match="damaged"):
            train("vae", given)
    path.write_bytes(whole)
    assert train("vae", given).exists()


SPOILED: dict[str, dict[str, torch.Tensor | None]] = {
    "no step": {"step": None},
    "a vector": {"step": torch.zeros(2, dtype=torch.int64)},
    "no number": {"step": torch.tensor(float("nan"))},
    "negative": {"step": torch.tensor(-5)},
    "past the end": {"step": torch.tensor(11)},
    "no moments": {"optimizer.0.exp_avg": None},
    "moments of another shape": {"optimizer.1.exp_avg_sq": torch.zeros(7)},
}


@pytest.mark.parametrize("kind", SPOILED)
def test_a_checkpoint_whose_parts_do_not_fit_is_refused(kind: str, tmp_path: Path) -> None:
    path, model = tmp_path / "checkpoint.safetensors", torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    parts = ({"model": model}, {"optimizer": optimizer})
    save_checkpoint(path, *parts, 4, {"seed": 1})
    assert load_checkpoint(path, *parts, {"seed": 1}, 10) == 4
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
    tensors = load_file(path) | SPOILED[kind]
    save_file({name: tensor for name, tensor in tensors.items() if tensor is not None}, path, metadata)
    with pytest.raises(RunError, match=r"damaged .*remove it to begin anew"):
        load_checkpoint(path, *parts, {"seed": 1}, 10)


@pytest.mark.slow
def test_a_classifier_learns_the_bars_and_its_card_is_true(folder: Path, tmp_path: Path) -> None:
    """Figures are those of the half-precision weights, as loading gives them."""
    path = train("classifier", plan(folder, tmp_path, "classifier", epochs=20, batch_size=10))
    card = json.loads(card_path(path).read_text())
    loaded, test = load_classifier(str(path)), load_data("mnist", "test", folder)
    figures = classifier_figures(loaded.module, test, torch.device("cpu"))
    assert figures == card["figures"] and figures["n"] == N_TEST
    assert float(str(figures["accuracy"])) > 0.9  # chance is 0.1
    assert card["parameters"] == 1_199_882 and card["labels"] == list(test.names)
    assert card["settings"]["data"] == load_data("mnist", "train", folder).sha256
    assert card["command"] == (
        "trex models train classifier --dataset mnist --seed 1 --epochs 20 --batch-size 10 --device cpu --threads 1"
    )


@pytest.mark.slow
def test_the_ambiguous_classifier_is_torn_between_neighbors(folder: Path, tmp_path: Path) -> None:
    path = train("ambiguous", plan(folder, tmp_path, "ambiguous", epochs=25, batch_size=10))
    data = load_data("mnist", "train", folder)
    images = (data.images[:10, :, :, None] / 255.0).astype("float32")
    probs = torch.from_numpy(load_classifier(str(path)).log_probs(images)).exp()
    rows = torch.arange(10)
    torn = probs[rows, rows] + probs[rows, (rows + 1) % 10]
    assert float(torn.mean()) > 0.8 and float((probs[rows, rows] - 0.5).abs().mean()) < 0.15


def test_names_tell_the_classes() -> None:
    assert model_name("vae", "mnist", tuple(range(10)), 10) == "mnist-vae"
    assert model_name("gan", "mnist", (0, 1, 2, 4, 5, 6, 7, 8, 9), 10) == "mnist-gan-without-3"
    assert model_name("gan", "fashion", (2, 4, 5, 7, 8), 10) == "fashion-gan-only-2-4-5-7-8"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dataset": "emnist"}, "data set 'emnist'"),
        ({"without": tuple("0123456789")}, "all 10 classes are excluded"),
        ({"without": ("ten",)}, "class 'ten'"),
        ({"classes": ("3",)}, "at least 2 classes"),
        ({"device": "tpu"}, "device 'tpu'"),
        ({"epochs": 0}, "epochs 0"),
        ({"epochs": 10**30}, "epochs 1.* give 1 to 100,000"),
        ({"seed": -1}, "seed -1: give 0 to 9,223"),
        ({"threads": 10**30}, "threads 1.* give 1 to 1,024"),
        ({"batch_size": 61}, "60 pictures do not fill one batch of 61"),
    ],
)
def test_what_cannot_be_trained_is_refused_first(
    folder: Path, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        train("classifier", plan(folder, tmp_path / "out", "classifier", **changes))
    assert not list((tmp_path / "out").glob("*"))
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(InputError, match=r"cannot create"):
        train("vae", plan(folder, blocked / "below", "vae"))
