"""Weights by name and path, refused where they are not what is due; decoders and classifiers behind the protocols.

Those in this package are small enough, loadable, and as good as their cards say.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.references.official_clevr import data_file
from trex.artifacts.card import card_path, read_card
from trex.artifacts.weights import compact, write_safetensors
from trex.foundation.errors import InputError, ModelError
from trex.inference.scoring import Scorer, images
from trex.inference.types import Classifier as ClassifierProtocol
from trex.inference.types import Floats, Renderer
from trex.mnist_models import load
from trex.mnist_models.datasets import load_data
from trex.mnist_models.latent import StandardNormal
from trex.mnist_models.load import SHIPPED, load_classifier, load_decoder
from trex.mnist_models.models import DecoderRenderer
from trex.mnist_models.networks.autoencoders import Vae
from trex.mnist_models.networks.classifiers import Classifier, LeNet
from trex.mnist_models.networks.gan import Generator as GanGenerator
from trex.mnist_models.training.quality import classifier_figures
from trex.runs.pictures import as_bytes


def vivid() -> GanGenerator:
    """Untrained, but with pictures that are not all gray."""
    generator = GanGenerator()
    with torch.no_grad():
        generator.layers[-1].weight.mul_(1000.0)  # type: ignore[operator,union-attr]
    return generator


MADE = {"classifier": lambda: Classifier(3), "lenet": lambda: LeNet(3), "vae": Vae, "gan": vivid}
LABELS = ["4", "7", "9"]


def save(folder: Path, kind: str, /, **changes: object) -> Path:
    torch.manual_seed(7)
    path = folder / f"mnist-{kind}.safetensors"
    card = {"kind": kind, "dataset": "mnist", "labels": LABELS} | changes
    write_safetensors(path, compact(MADE[kind]()), card)
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of models that were trained here, with one of each kind in it."""
    monkeypatch.setenv("TREX_CACHE", str(tmp_path))
    monkeypatch.setattr(load, "SHIPPED", tmp_path / "nothing is shipped")
    for kind in MADE:
        save(load.trained_models(), kind)
    return load.trained_models()


def test_models_are_found_by_name_and_by_path(folder: Path) -> None:
    for kind in ("classifier", "lenet"):
        model = load_classifier(f"mnist-{kind}")
        assert model.labels == ("4", "7", "9") and model.name == f"mnist-{kind}" and model.dataset == "mnist"
    for kind in ("vae", "gan"):
        decoder = load_decoder(str(folder / f"mnist-{kind}.safetensors"))
        assert decoder.key.startswith(f"mnist-{kind} ") and decoder.labels == ("4", "7", "9")
        assert not any(p.requires_grad or p.dtype != torch.float32 for p in decoder.decoder.parameters())


@pytest.mark.parametrize("spec", ["mnist-nothing", "../mnist-vae", "models/mnist-vae", ""])
def test_an_unknown_name_is_told_with_those_at_hand(folder: Path, spec: str) -> None:
    with pytest.raises(
        InputError, match=r"neither shipped nor in .*mnist-classifier, mnist-gan, mnist-lenet"
    ):
        load_decoder(spec)


@pytest.mark.usefixtures("signs")
def test_weights_of_another_kind_or_architecture_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"of kind 'vae'; expected classifier or lenet or ambiguous"):
        load_classifier("mnist-vae")
    with pytest.raises(InputError, match=r"of kind 'lenet'; expected vae or gan"):
        load_decoder("mnist-lenet")
    for changes, message in (
        ({"kind": "lenet"}, r"not of LeNet: missing"),
        ({"labels": ["4", "7"]}, r"answer.1.weight is \(3, 128\) and must be \(2, 128\)"),
        ({"labels": []}, "no list of labels"),
        ({"labels": [4, 7, 9]}, "no list of labels"),
        ({"labels": ["4", "4", "9"]}, "a duplicate label"),
        ({"kind": "diffusion"}, "names no kind"),
        ({"kind": ["classifier"]}, "names no kind"),
        ({"dataset": "cifar"}, "data set 'cifar' is not known"),
        ({"dataset": "signs"}, "is not .32, 32, 3., as signs has it"),
        ({"dataset": None}, "names no data set"),
    ):
        path = save(tmp_path, "classifier", **changes)
        with pytest.raises(InputError, match=message):
            load_classifier(str(path))


def test_changed_and_missing_files_are_named(folder: Path) -> None:
    path = folder / "mnist-vae.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="changed or cut"):
        load_decoder("mnist-vae")
    path.write_bytes(data[:1000])
    with pytest.raises(InputError, match="damaged"):
        load_decoder("mnist-vae")
    card_path(path).write_text(json.dumps({"kind": "vae"}))
    with pytest.raises(InputError, match="gives no sha256"):
        load_decoder("mnist-vae")
    with pytest.raises(InputError, match=r"is missing"):
        load_decoder(str(folder / "other.safetensors"))


@pytest.mark.parametrize("kind", ["vae", "gan"])
def test_a_decoder_and_a_classifier_make_a_world(folder: Path, kind: str) -> None:
    """They satisfy the protocols of the search, and each score is a pure function of its latent."""
    renderer: Renderer[Floats] = load_decoder(f"mnist-{kind}")
    classifier: ClassifierProtocol = load_classifier("mnist-classifier")
    rng = np.random.default_rng(1)
    zs = [StandardNormal(5).sample(rng) for _ in range(4)]
    scorer = Scorer(renderer, classifier)
    together, alone = scorer.score(zs), [scorer.score([z])[0] for z in zs]
    for scored, other in zip(together, alone, strict=True):
        assert np.array_equal(scored.picture.pixels, other.picture.pixels)
        assert np.array_equal(scored.log_probs, other.log_probs)
    assert together[0].picture.pixels.shape == (28, 28, 1)
    assert renderer.render([]) == []


@pytest.mark.parametrize("kind", ["vae", "gan"])
def test_pictures_are_scored_before_they_are_rounded_and_kept_rounded(folder: Path, kind: str) -> None:
    renderer = load_decoder(f"mnist-{kind}")
    zs = np.random.default_rng(2).standard_normal((6, 5))
    smooth = renderer.pixels(torch.from_numpy(zs.astype(np.float32))).numpy().transpose(0, 2, 3, 1)
    scored = images(renderer.render(list(zs)))
    np.testing.assert_allclose(scored, smooth, atol=1e-6)  # in one batch, the last bits differ
    rounded = as_bytes(scored) / 255.0
    assert 0.4 / 255.0 < float(np.abs(rounded - scored).max()) <= 0.5 / 255.0 + 1e-6
    assert float(np.abs(np.floor(smooth * 255.0) / 255.0 - smooth).max()) > 0.6 / 255.0  # planted: cut
    z = torch.full((1, 5), 0.3, requires_grad=True)
    (gradient,) = torch.autograd.grad(renderer.pixels(z).sum(), z)
    assert float(gradient.abs().max()) > 0.0


def test_log_probs_are_the_same_along_both_paths(folder: Path) -> None:
    classifier = load_classifier("mnist-classifier")
    pictures = np.random.default_rng(3).random((3, 28, 28, 1)).astype(np.float32)
    smooth = classifier.differentiable_log_probs(torch.from_numpy(pictures.transpose(0, 3, 1, 2).copy()))
    assert np.allclose(classifier.log_probs(pictures), smooth.numpy(), atol=1e-5)
    assert classifier.log_probs(pictures[:0]).shape == (0, 3)


def test_pictures_and_latents_of_another_shape_are_refused(folder: Path) -> None:
    classifier, renderer = load_classifier("mnist-lenet"), load_decoder("mnist-vae")
    for wrong in (
        np.zeros((1, 28, 28, 3), np.float32),
        np.zeros((1, 28, 28, 1)),
        np.full((1, 28, 28, 1), 255.0, np.float32),
        np.full((1, 28, 28, 1), np.nan, np.float32),
    ):
        with pytest.raises(ModelError):
            classifier.log_probs(wrong)
    with pytest.raises(InputError, match=r"latent \(4,\) is not \(5,\)"):
        renderer.render([np.zeros(4)])


def test_the_gan_keeps_what_its_normalization_has_seen(tmp_path: Path) -> None:
    """Planted: a generator whose running means are lost draws other pictures."""
    torch.manual_seed(1)
    generator = vivid()
    generator.train()(torch.randn(16, 5))
    path = tmp_path / "mnist-gan.safetensors"
    write_safetensors(path, compact(generator), {"kind": "gan", "dataset": "mnist", "labels": LABELS})
    loaded: DecoderRenderer = load_decoder(str(path))
    z = torch.randn(2, 5)
    kept = generator.eval()(z).detach()
    assert torch.allclose(loaded.pixels(z), kept, atol=2e-3)  # half precision
    generator.layers[1].reset_running_stats()  # type: ignore[operator]
    assert not torch.allclose(generator(z).detach(), kept, atol=2e-3)


LARGEST_BYTES = 25_000_000
LEAST_ACCURACY = {"mnist": 0.99, "fashion": 0.92}


def shipped(name: str) -> Path:
    path = SHIPPED / f"{name}.safetensors"
    assert path.is_file(), f"{name} is to be shipped"
    return path


def figures_of(path: Path) -> dict[str, float]:
    figures = read_card(path)["figures"]
    assert isinstance(figures, dict)
    return figures


def test_all_together_they_are_small_and_each_has_its_card() -> None:
    files = list(SHIPPED.glob("*"))
    assert sum(path.stat().st_size for path in files) <= LARGEST_BYTES
    names = [{path.stem for path in files if path.suffix == suffix} for suffix in (".safetensors", ".json")]
    assert names[0] == names[1] and len(files) == 2 * len(names[0])


@pytest.mark.parametrize("dataset", ["mnist", "fashion"])
@pytest.mark.parametrize("kind", ["vae", "gan"])
def test_decoders_draw_something_bright_on_something_dark(dataset: str, kind: str) -> None:
    decoder = load_decoder(shipped(f"{dataset}-{kind}").stem)
    (picture,) = decoder.render([np.full(5, 0.5)])
    assert picture.pixels.max() > 0.4 > 0.1 > picture.pixels.min() and len(decoder.labels) == 10


@pytest.mark.parametrize("dataset", ["mnist", "fashion"])
@pytest.mark.parametrize("kind", ["vae", "gan"])
def test_decoders_draw_every_class(dataset: str, kind: str) -> None:
    """Of 500 prior draws the classifier calls at least 5 each class; a collapsed GAN draws a few."""
    decoder, classifier = load_decoder(f"{dataset}-{kind}"), load_classifier(f"{dataset}-classifier")
    z = torch.from_numpy(np.random.default_rng(1).standard_normal((500, 5)).astype(np.float32))
    with torch.inference_mode():
        answers = classifier.differentiable_log_probs(decoder.pixels(z)).argmax(1)
    assert int(torch.bincount(answers, minlength=10).min()) >= 5


@pytest.mark.parametrize("dataset", ["mnist", "fashion"])
def test_classifiers_are_as_good_as_was_asked_for(dataset: str) -> None:
    path = shipped(f"{dataset}-classifier")
    assert figures_of(path)["n"] == 10_000 and figures_of(path)["accuracy"] >= LEAST_ACCURACY[dataset]
    blank = load_classifier(path.stem).log_probs(np.zeros((1, 28, 28, 1), np.float32))
    assert blank.shape == (1, 10) and np.exp(blank).sum() == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("dataset", ["mnist", "fashion"])
def test_the_card_tells_the_truth(dataset: str) -> None:
    """On another machine the last bits of a sum may turn an answer that is torn."""
    path = shipped(f"{dataset}-classifier")
    test = load_data(dataset, "test", data_file("MNIST").parent)
    found = classifier_figures(load_classifier(path.stem).module, test, torch.device("cpu"))
    assert abs(int(str(found["right"])) - figures_of(path)["right"]) <= 3
