"""The picture features of the released CLEVR models: resizing to the bit, and a ResNet laid out as torchvision's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional

from tests.references.official_clevr import data_file
from trex.clevr_models.bicubic import resize_8bit
from trex.clevr_models.iep.resnet_features import FEATURES, MEAN, STD, ResNet, normalize, trunk_state

pytestmark = pytest.mark.usefixtures("one_thread")

SIZES = [
    (320, 480, 224, 224),
    (160, 240, 224, 224),
    (80, 120, 224, 224),
    (224, 224, 224, 224),
    (37, 91, 50, 13),
]


def as_pillow(picture: np.ndarray[tuple[int, ...], np.dtype[np.uint8]], height: int, width: int) -> Tensor:
    resized = Image.fromarray(picture).resize((width, height), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.array(resized)).permute(2, 0, 1).double()


@pytest.mark.parametrize("size", SIZES)
def test_resizing_is_pillow_s_to_the_bit(size: tuple[int, int, int, int]) -> None:
    h, w, height, width = size
    rng = np.random.default_rng(5)
    noise = rng.integers(0, 256, (h, w, 3), dtype=np.uint8)
    edges = (rng.random((h, w, 3)) < 0.5).astype(np.uint8) * 255  # overshoots everywhere
    images = torch.from_numpy(np.stack([noise, edges]) / np.float32(255)).permute(0, 3, 1, 2)
    found = resize_8bit(images, height, width)
    assert torch.equal(found[0], as_pillow(noise, height, width))
    assert torch.equal(found[1], as_pillow(edges, height, width))


def test_planted_float_resizing_is_not_pillow_s() -> None:
    picture = np.random.default_rng(5).integers(0, 256, (320, 480, 3), dtype=np.uint8)
    images = torch.from_numpy(picture / np.float32(255)).permute(2, 0, 1)[None]
    size, wanted = (224, 224), as_pillow(picture, 224, 224)
    for smooth in (True, False):
        floats = functional.interpolate(images, size, mode="bicubic", antialias=smooth, align_corners=False)
        assert not torch.equal((floats[0].double() * 255).round().clamp(0, 255), wanted)


def test_official_pictures_are_resized_to_the_bit() -> None:
    for path in sorted(data_file("CLEVR_v1.0/images/val").glob("*.png"))[:5]:
        picture = np.array(Image.open(path).convert("RGB"))
        images = torch.from_numpy(picture / np.float32(255)).permute(2, 0, 1)[None]
        assert torch.equal(resize_8bit(images, 224, 224)[0], as_pillow(picture, 224, 224))


@pytest.mark.slow
def test_gradients_reach_the_picture_as_if_nothing_were_rounded() -> None:
    torch.manual_seed(1)
    images = (torch.rand(1, 3, 32, 48) * 0.4 + 0.3).requires_grad_()  # nothing is clipped
    factor = torch.randn(3, 20, 20, dtype=torch.float64)
    (resize_8bit(images, 20, 20) * factor).sum().backward()
    floats = images.detach().double().requires_grad_()
    smooth = functional.interpolate(floats, (20, 20), mode="bicubic", antialias=True, align_corners=False)
    (smooth * 255 * factor).sum().backward()
    assert images.grad is not None and floats.grad is not None
    torch.testing.assert_close(images.grad.double(), floats.grad, rtol=1e-4, atol=1e-3)


def test_normalization_is_the_one_trained_with() -> None:
    assert (MEAN, STD) == ((0.485, 0.456, 0.406), (0.229, 0.224, 0.224))
    gray = torch.full((1, 3, 40, 60), 51 / 255)
    found = normalize(gray)
    assert found.shape == (1, 3, 224, 224) and found.dtype == torch.float32
    expected = torch.tensor([(0.2 - m) / s for m, s in zip(MEAN, STD, strict=True)])
    torch.testing.assert_close(found[0].mean(dim=(1, 2)), expected)


def test_tensors_are_torchvision_s_name_for_name() -> None:
    with torch.device("meta"):
        whole, trunk = ResNet(trunk=False).state_dict(), ResNet().state_dict()
    parameters = {n: t for n, t in whole.items() if not n.split(".")[-1].startswith(("running", "num_"))}
    assert sum(tensor.numel() for tensor in parameters.values()) == 44_549_160  # torchvision's own count
    assert len(whole) == 626 and len(parameters) == 314
    published = {
        "conv1.weight": (64, 3, 7, 7), "bn1.running_mean": (64,), "layer1.0.downsample.0.weight": (256, 64, 1, 1),
        "layer1.0.downsample.1.running_var": (256,), "layer2.0.conv2.weight": (128, 128, 3, 3),
        "layer2.3.bn3.bias": (512,), "layer3.0.downsample.0.weight": (1024, 512, 1, 1),
        "layer3.22.conv1.weight": (256, 1024, 1, 1), "layer4.2.conv3.weight": (2048, 512, 1, 1),
        "fc.weight": (1000, 2048),
    }  # fmt: skip
    assert {name: tuple(whole[name].shape) for name in published} == published
    assert trunk_state(whole).keys() == trunk.keys()
    assert not any(name.startswith(("layer4", "fc")) for name in trunk)


def test_features_are_those_of_layers_written_out() -> None:
    torch.manual_seed(2)
    network = ResNet(blocks=(1, 2, 1, 1)).eval()
    state = network.state_dict()
    for name, tensor in state.items():
        if name.endswith("running_var"):
            tensor.uniform_(0.5, 2.0)
        elif name.endswith("running_mean"):
            tensor.normal_(std=0.1)
    images = torch.rand(1, 3, 64, 96)
    with torch.no_grad():
        found = network(images)
        x = _norm(
            state, "bn1", functional.conv2d(normalize(images), state["conv1.weight"], None, 2, 3)
        ).relu()
        x = functional.max_pool2d(x, 3, 2, 1)
        for block, stride in (("layer1.0", 1), ("layer2.0", 2), ("layer2.1", 1), ("layer3.0", 2)):
            x = _block(state, block, x, stride)
    assert found.shape == (1, *FEATURES)
    torch.testing.assert_close(found, x, rtol=1e-4, atol=1e-5)


def _block(state: dict[str, Tensor], name: str, x: Tensor, stride: int) -> Tensor:
    def layer(number: int, y: Tensor, step: int = 1) -> Tensor:
        kernel = state[f"{name}.conv{number}.weight"]
        return _norm(
            state,
            f"{name}.bn{number}",
            functional.conv2d(y, kernel, None, step, padding=kernel.shape[2] // 2),
        )

    y = layer(3, layer(2, layer(1, x).relu(), stride).relu())
    if f"{name}.downsample.0.weight" in state:
        x = functional.conv2d(x, state[f"{name}.downsample.0.weight"], None, stride)
        x = _norm(state, f"{name}.downsample.1", x)
    return (x + y).relu()


def _norm(state: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    parts = [state[f"{name}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")]
    return functional.batch_norm(x, *parts)
