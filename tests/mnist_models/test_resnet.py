"""ResNet-18 for small pictures: its layers, its training on made signs, and which kinds fit which pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.worlds.made_signs import CLASSES, FRAMES, TRACKS, write_signs
from trex.artifacts.card import card_path, read_card
from trex.foundation.errors import InputError, ModelError
from trex.mnist_models.card import CLASSIFIERS, DIGIT_KINDS, KINDS, parse_card
from trex.mnist_models.datasets import load_data
from trex.mnist_models.load import default_network, load_classifier
from trex.mnist_models.networks.classifiers import Block, ResNet18, classifier_of
from trex.mnist_models.pictures import from_planes, planes, split_tracks
from trex.mnist_models.training.options import Plan
from trex.mnist_models.training.train import train

pytestmark = pytest.mark.usefixtures("one_thread", "signs")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_signs(tmp_path_factory.mktemp("signs"))


def trained(folder: Path, out: Path, kind: str = "resnet18-16", **changes: object) -> Path:
    given = {"dataset": "signs", "epochs": 1, "batch_size": 16, "device": "cpu", "data": folder, "out": out}
    return train(kind, Plan.checked(given | changes))


def test_parameter_counts_follow_from_the_layers() -> None:
    def conv(inputs: int, outputs: int, kernel: int) -> int:
        return kernel**2 * inputs * outputs + 2 * outputs  # with its batch normalization

    stages = sum(
        conv(before, after, 3) + 3 * conv(after, after, 3) + conv(before, after, 1)
        for before, after in ((64, 128), (128, 256), (256, 512))
    )
    whole = conv(3, 64, 3) + 4 * conv(64, 64, 3) + stages + 512 * 43 + 43
    assert sum(parameter.numel() for parameter in ResNet18(43).parameters()) == whole == 11_190_891


def test_the_stem_keeps_32_pixels_and_the_stages_leave_4() -> None:
    network = ResNet18(43, width=16).eval()
    sides, x = [], torch.rand(1, 3, 32, 32)
    for layer in network.features:
        x = layer(x)
        sides.append(x.shape[-1] if x.ndim == 4 else 0)
    assert sides == [32, 32, 32, 32, 32, 16, 16, 8, 8, 4, 4, 1, 0] and x.shape == (1, 128)
    assert network(torch.rand(2, 3, 32, 32)).shape == (2, 43)


def test_a_block_adds_to_its_input() -> None:
    block, x = Block(8, 8, 1).eval(), torch.randn(2, 8, 4, 4)
    torch.nn.init.zeros_(block.second_norm.weight)
    assert torch.equal(block(x), x.relu())  # without its shortcut it would be 0


def test_layouts_are_inverse_and_keep_rows_columns_and_channels() -> None:
    color = np.arange(2 * 4 * 5 * 3, dtype=np.uint8).reshape(2, 4, 5, 3)
    assert planes(color).shape == (2, 3, 4, 5) and planes(color)[1, 2, 3, 4] == color[1, 3, 4, 2]
    assert np.array_equal(from_planes(planes(color)), color)
    assert not np.array_equal(color.reshape(2, 3, 4, 5), planes(color))  # planted: a mere change of shape
    gray = color[..., 0]
    assert planes(gray).shape == (2, 1, 4, 5) and np.array_equal(from_planes(planes(gray)), gray)


@pytest.mark.slow
def test_a_resnet_learns_made_signs_and_its_card_is_true(folder: Path, tmp_path: Path) -> None:
    path = trained(folder, tmp_path, epochs=12, batch_size=12)
    card = read_card(path)
    assert path.stem == "signs-resnet18-16" and card["picture"] == [32, 32, 3] and len(card["labels"]) == 43
    figures = card["figures"]
    assert isinstance(figures, dict) and figures["accuracy"] > 0.9  # chance is .25
    assert figures["n"] == CLASSES * TRACKS * FRAMES
    assert (
        figures["held_out"]["n"] == 12 and figures["held_out"]["accuracy"] > 0.9
    )  # tracks that it never saw
    loaded, test = load_classifier(str(path)), load_data("signs", "test", folder)
    output = loaded.log_probs(test.images.astype(np.float32) / np.float32(255)).argmax(axis=1)
    assert int((output == test.labels).sum()) == figures["right"]
    with pytest.raises(ModelError, match=r"needs float32 \(B, 32, 32, 3\)"):
        loaded.log_probs(np.zeros((1, 28, 28, 1), np.float32))


def test_held_out_tracks_are_not_learned(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trex.mnist_models.training import train as training

    seen: list[int] = []
    plain = training.fit

    def watched(make: object, data: object, *remaining: object) -> object:
        seen.extend(data.groups.tolist())
        return plain(make, data, *remaining)

    monkeypatch.setattr(training, "fit", watched)
    trained(folder, tmp_path)
    assert len(seen) == 48 and len(set(seen)) == 16  # of 60 frames of 20 signs


def test_every_kind_has_a_network_and_digit_kinds_refuse_signs(folder: Path, tmp_path: Path) -> None:
    for kind in CLASSIFIERS:
        picture = (28, 28, 1) if kind in DIGIT_KINDS else (32, 32, 3)
        assert classifier_of(kind, 7, picture).eval()(torch.rand(2, picture[2], *picture[:2])).shape == (2, 7)
    for kind in DIGIT_KINDS:
        with pytest.raises(InputError, match=f"{kind!r} is for pictures of 28x28 in gray; signs has 32x32"):
            trained(folder, tmp_path / "out", kind)
    assert not (tmp_path / "out").exists()
    assert default_network("signs") == "resnet18" and default_network("mnist") == "classifier"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"picture": [28, 28, 1]}, r"picture \[28, 28, 1\] is not \[32, 32, 3\]"),
        ({"picture": None}, "picture None is not"),
        ({"picture": [32, 32]}, r"picture \[32, 32\] is not"),
        ({"latent": 0}, "latent 0 is not 1 to 1000"),
        ({"latent": "5"}, "latent '5' is not 1 to 1000"),
        ({"latent": 10**9}, "is not 1 to 1000"),
    ],
)
def test_cards_of_other_pictures_or_latents_are_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    card = {"kind": "resnet18", "dataset": "signs", "labels": ["a"], "sha256": "0", "picture": [32, 32, 3]}
    assert parse_card(card, tmp_path / "x.safetensors", KINDS).picture == (32, 32, 3)
    with pytest.raises(InputError, match=message):
        parse_card(card | change, card_path(tmp_path / "x.safetensors"), KINDS)


def test_a_card_without_picture_and_latent_is_of_digits(tmp_path: Path) -> None:
    card = {"kind": "vae", "dataset": "mnist", "labels": ["a"], "sha256": "0"}
    found = parse_card(card, tmp_path / "x.safetensors", KINDS)
    assert (found.picture, found.latent) == ((28, 28, 1), 5)
    with pytest.raises(InputError, match=r"picture \[28, 28, 1\] is not \[32, 32, 3\]"):
        parse_card(card | {"dataset": "signs"}, tmp_path / "x.safetensors", KINDS)


def test_a_class_without_held_out_tracks_is_trained_all_the_same(folder: Path, tmp_path: Path) -> None:
    data = load_data("signs", "train", folder)
    held = set(data.labels[split_tracks(data).held_out].tolist())
    assert held < set(range(CLASSES))  # four tracks of twenty: a class has none
    (missing,) = set(range(CLASSES)) - held
    found = trained(folder, tmp_path, classes=(str(missing), "42"), batch_size=4)
    assert "held_out" not in read_card(found)["figures"]
