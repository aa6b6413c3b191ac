"""`trex models train vae | gan | classifier` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.running.command_line import trex
from tests.worlds.made_signs import write_signs
from tests.worlds.mnist_worlds import write_data


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data", "FashionMNIST")


def test_train_writes_weights_and_says_what_they_are_worth(folder: Path, tmp_path: Path) -> None:
    small = [
        "--dataset",
        "fashion",
        "--data",
        str(folder),
        "--epochs",
        "1",
        "--batch-size",
        "20",
        "--device",
        "cpu",
    ]
    out = ["--out", str(tmp_path / "out")]
    result = trex("models", "train", "classifier", *small, *out, "--network", "lenet")
    assert result.exit_code == 0, result.output
    assert "writing to" in result.stderr and "steps 3/3, epoch 1/1, loss" in result.stderr
    weights = tmp_path / "out" / "fashion-lenet.safetensors"
    assert result.stdout.splitlines()[-1] == f"weights: {weights}" and weights.is_file()
    result = trex("models", "train", "vae", *small, *out, "--without", "Trouser, 9")
    assert result.exit_code == 0, result.output
    card = json.loads((tmp_path / "out" / "fashion-vae-without-1-9.json").read_text())
    assert card["command"].startswith("trex models train vae --dataset fashion --without Trouser,9")


@pytest.mark.usefixtures("signs")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["vae", "--dataset", "mnist"], "has no train-images-idx3-ubyte.gz"),
        (["gan", "--dataset", "fashion", "--without", "0,1,2,3,4,5,6,7,8,9"], "all 10 classes are excluded"),
        (["vae", "--dataset", "fashion", "--classes", "12"], "class '12' is not known"),
        (["classifier", "--dataset", "fashion", "--network", "resnet"], "network 'resnet' is not known"),
        (["vae", "--dataset", "signs"], "train one of lenet, resnet18, resnet18-16, beta-vae"),
        (["beta-vae", "--dataset", "signs"], "has neither gtsrb32_train_every3rd.npz nor"),
        (["beta-vae", "--dataset", "fashion", "--latent", "0"], "--latent 0: give 1 to 1,000"),
        (["beta-vae", "--dataset", "fashion", "--seed", "-1"], "--seed -1: give 0 to 9,223"),
        (["vae", "--dataset", "fashion", "--threads", "1025"], "--threads 1025: give 1 to 1,024"),
    ],
)
def test_bad_input_ends_with_2_before_anything_is_written(
    folder: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    out = tmp_path / "out"
    found = trex("models", "train", *words, "--data", folder, "--out", out)
    assert found.exit_code == 2 and message in found.stderr
    assert not list(out.glob("*"))


@pytest.mark.usefixtures("signs")
def test_signs_are_trained_by_the_same_commands(tmp_path: Path) -> None:
    common = [
        "--dataset",
        "signs",
        "--data",
        str(write_signs(tmp_path / "data")),
        "--out",
        str(tmp_path / "out"),
    ]
    common += ["--epochs", "1", "--batch-size", "24", "--device", "cpu"]
    result = trex("models", "train", "classifier", *common, "--network", "resnet18-16", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["figures"]["held_out"]["n"] == 12
    result = trex("models", "train", "beta-vae", *common, "--latent", "3", "--beta", "0.4", "--anneal", "2")
    assert result.exit_code == 0, result.output
    card = json.loads((tmp_path / "out" / "signs-beta-vae.json").read_text())
    assert card["settings"]["latent"] == 3 and card["settings"]["beta"] == 0.4
    assert "--latent 3 --beta 0.4 --anneal 2" in card["command"] and card["figures"]["active_latents"] <= 3
