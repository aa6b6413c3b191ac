"""Other views of a picture: within their ranges, each its own, and never mirrored."""

from __future__ import annotations

import torch

from trex.mnist_models.training.classifiers import CONTRAST, LIGHT, varied


def arrows(n: int) -> torch.Tensor:
    """A bright bar above and a bright square at its left end, in color: (n, 3, 32, 32)."""
    picture = torch.full((3, 32, 32), 0.3)
    picture[:, 8:12, 8:24] = 0.7
    picture[0, 8:20, 8:12] = 0.9
    return picture.expand(n, -1, -1, -1).contiguous()


def correlation(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Of each two pictures (B,); light and contrast do not change it."""
    tensor, other = (pictures.flatten(1) - pictures.mean((1, 2, 3))[:, None] for pictures in (first, second))
    return (tensor * other).sum(1) / (tensor.norm(dim=1) * other.norm(dim=1))


def test_views_keep_shape_and_range_and_differ() -> None:
    torch.manual_seed(0)
    seen = varied(arrows(60))
    assert seen.shape == (60, 3, 32, 32) and float(seen.min()) >= 0.0 and float(seen.max()) <= 1.0
    flat = seen.flatten(1)
    assert float(torch.cdist(flat, flat).fill_diagonal_(9.0).min()) > 0.5


def test_the_same_state_gives_the_same_views() -> None:
    torch.manual_seed(3)
    first = varied(arrows(4))
    torch.manual_seed(3)
    assert torch.equal(first, varied(arrows(4)))


def test_no_view_is_mirrored() -> None:
    torch.manual_seed(1)
    pictures = arrows(200)
    seen = varied(pictures)
    for kept, mirrored in ((pictures, pictures.flip(3)), (pictures, pictures.flip(2))):
        assert bool((correlation(seen, kept) > correlation(seen, mirrored)).all())


def test_light_and_contrast_use_their_whole_range_and_no_more() -> None:
    torch.manual_seed(2)
    flat = torch.full((4000, 1, 8, 8), 0.5)  # nothing to move or to blur
    light = varied(flat).mean((1, 2, 3)) - 0.5
    assert (
        0.95 * LIGHT < float(light.max()) <= LIGHT + 1e-6
        and -LIGHT - 1e-6 <= float(light.min()) < -0.95 * LIGHT
    )
    halves = flat.clone()
    halves[..., 4:] = 0.6
    spread = varied(halves).std((1, 2, 3)) / halves.std((1, 2, 3))
    assert float(spread.max()) < 1.15 * (1.0 + CONTRAST) and float(spread.min()) > 0.3


def test_a_third_of_the_pictures_stays_sharp_and_the_others_are_coarser() -> None:
    torch.manual_seed(4)
    stripes = (torch.arange(32) // 2 % 2).float().expand(1, 1, 32, 32)
    spread = varied((0.3 + 0.4 * stripes).expand(600, -1, -1, -1).contiguous()).flatten(1).std(1)
    assert 150 < int((spread > 0.1).sum()) < 260  # stripes of two pixels do not survive half of the pixels
