"""Saliency points where a model that can be understood looks, and its target stays the same for every noisy copy."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.worlds.explained_worlds import REMOVALS_ONLY, CodedRenderer, coded_run, found
from trex.clevr_models import saliency
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.bound import BoundModule
from trex.clevr_models.saliency import (
    NoGradientsError,
    PathIntegral,
    SmoothGrad,
    fixed_answers,
    integrated_gradients,
    smooth_grad,
)
from trex.explain import saliency_masks
from trex.explain.explain_scene import explain_scene, is_complete
from trex.explain.explanation import INTEGRATED, SMOOTHGRAD, Explanation
from trex.explain.saliency_agreement import agreements, rank_correlation, scene_agreement
from trex.explain.saliency_masks import map_path, read_map, summed
from trex.explain.stored import CODEC
from trex.foundation.errors import RunError
from trex.runs.folder import RunFolder
from trex.scenes.scene import Nuisances, Scene, SceneObject

SALIENCY = REMOVALS_ONLY.changed(saliency=True)
# Four red things side by side along the picture: far from each other, none hidden.
PLACES = ((-1.6, -1.9), (-0.4, -0.7), (0.8, 0.5), (2.0, 1.7))
SCENE = Scene(
    tuple(SceneObject("sphere", "small", "red", "rubber", x, y, 0.0) for x, y in PLACES), Nuisances()
)


class Looks(nn.Module):
    """Says "1" the surer, the redder the picture is where its weights (H, W) are."""

    def __init__(self, weights: np.ndarray) -> None:  # type: ignore[type-arg]
        super().__init__()
        self.register_buffer("weights", torch.from_numpy(weights.astype(np.float32)))

    def forward(self, images: Tensor) -> Tensor:
        redness = images[:, 0] - images[:, 1]
        seen = (redness * self.get_buffer("weights")).sum(dim=(1, 2))
        logits = images.new_zeros(len(images), len(ANSWERS))
        logits[:, ANSWERS.index("1")] = seen
        return logits


def looks_at(strength: dict[int, float]) -> BoundModule:
    """A module that looks at the masks of these objects of SCENE only; the numbers say how much it minds each."""
    mask = CodedRenderer().render([SCENE])[0].mask
    weights = np.zeros(mask.shape)
    for index, weight in strength.items():
        is_there = mask == index + 1
        weights[is_there] = weight / is_there.sum()
    return BoundModule(Looks(weights), ANSWERS)


@contextmanager
def explained(folder: Path, bound: BoundModule) -> Iterator[tuple[RunFolder, Explanation]]:
    with coded_run(folder, bound) as scores:
        yield scores.folder, explain_scene(scores, found(scores, SCENE), SALIENCY, None)


@pytest.mark.parametrize("index", range(4))
def test_a_model_that_looks_at_one_object_is_seen_to(index: int, tmp_path: Path) -> None:
    with explained(tmp_path, looks_at({index: 18.0})) as (_, explanation):
        assert explanation.strongest == index
        assert explanation.saliency is not None
        assert explanation.saliency.answers == ("1",)
        assert [found.method for found in explanation.saliency.maps] == [SMOOTHGRAD, INTEGRATED]
        for found_map in explanation.saliency.maps:
            row = scene_agreement(explanation, found_map)
            assert (row.peak_is_strongest, row.top_is_strongest) == (True, True)
            assert found_map.ranking[0] == index
            assert found_map.completeness_gap is None or found_map.completeness_gap < 1e-3
            assert sum(found_map.sums) - found_map.sums[index] + found_map.background == 0.0
        rates = agreements([explanation], {})
        assert [(rate.scenes, rate.peak.count, rate.top.count) for rate in rates] == [(1, 1, 1)] * 2
        assert all(rate.chance_top == 0.25 and rate.chance_peak < 0.05 for rate in rates)


def test_ranks_agree_with_the_ablation(tmp_path: Path) -> None:
    with explained(tmp_path, looks_at({0: 2.0, 1: 14.0, 2: 4.0, 3: 7.0})) as (folder, explanation):
        assert explanation.saliency is not None
        for found_map in explanation.saliency.maps:
            row = scene_agreement(explanation, found_map)
            assert row.rank_correlation == pytest.approx(1.0)
            assert found_map.ranking == (1, 3, 2, 0)
            kept = read_map(folder, explanation.picture, found_map.method)
            assert kept.sum() == pytest.approx(sum(found_map.sums) + found_map.background)
            assert sum(found_map.pixels) + found_map.background_pixels == kept.size
        assert CODEC.parse(CODEC.text(explanation), "x/y.json", "delete it") == explanation


def test_a_map_of_the_wrong_object_does_not_point(tmp_path: Path) -> None:
    """Planted: masks in another order, so that each sum is of another object."""
    with explained(tmp_path, looks_at({0: 2.0, 1: 14.0, 2: 4.0, 3: 7.0})) as (folder, explanation):
        picture = CodedRenderer().render([SCENE])[0]
        kept = read_map(folder, explanation.picture, SMOOTHGRAD)
        wrong = np.where(picture.mask > 0, 5 - picture.mask, 0).astype(np.uint8)
        row = scene_agreement(explanation, summed(kept, wrong, 4, SMOOTHGRAD, {}))
    assert (row.peak_is_strongest, row.top_is_strongest) == (False, False)
    assert row.rank_correlation is not None
    assert row.rank_correlation < 0.5


def test_scenes_of_one_start_say_as_little_as_one(tmp_path: Path) -> None:
    """Planted bug: each of eight scenes of one start counted, so that a map agreed in 63% or more."""
    with explained(tmp_path, looks_at({0: 18.0})) as (_, explanation):
        eight = [replace(explanation, picture=f"{k:064x}") for k in range(8)]
        starts = {each.picture: 0 for each in eight}
        for one, eight_alone in zip(agreements(eight, starts), agreements(eight, {}), strict=True):
            assert (one.peak.count, one.peak.of, one.top.of) == (8, 8, 8)
            assert one.peak.interval.low == one.top.interval.low == pytest.approx(0.025)
            assert eight_alone.peak.interval.low == pytest.approx(0.63, abs=0.01)
            assert "in 8 of 8 scenes (95% CI 2.5–100%; by chance" in one.sentence()


def test_a_damaged_map_is_named(tmp_path: Path) -> None:
    with explained(tmp_path, looks_at({0: 18.0})) as (folder, explanation):
        path = map_path(folder, explanation.picture, SMOOTHGRAD)
        good = path.read_bytes()
        for bad in (good[:50], good[:-4], b"", good.replace(b"(40, 60)", b"(41, 60)"), b"PK" + good[2:]):
            path.write_bytes(bad)
            with pytest.raises(RunError, match=path.name):
                read_map(folder, explanation.picture, SMOOTHGRAD)


def test_a_damaged_picture_is_named(tmp_path: Path) -> None:
    with coded_run(tmp_path, looks_at({0: 18.0})) as scores:
        scene = found(scores, SCENE)
        explanation = explain_scene(scores, scene, REMOVALS_ONLY, None)
        for name in (f"{explanation.picture}.mask.png", f"{explanation.picture}.png"):
            path = scores.folder.path / "pictures" / name
            good = path.read_bytes()
            for bad in (good[:60], b"", good[:-30]):
                path.write_bytes(bad)
                with pytest.raises(RunError, match=explanation.picture):
                    explain_scene(scores, scene, SALIENCY, explanation)
            path.unlink()
            with pytest.raises(RunError, match=r"or its mask was changed|cannot be read"):
                explain_scene(scores, scene, SALIENCY, explanation)
            path.write_bytes(good)
        assert explain_scene(scores, scene, SALIENCY, explanation).saliency is not None


class Smooth(nn.Module):
    """A small smooth network with fixed weights: pictures (B, 3, 6, 8) to 3 logits."""

    def __init__(self) -> None:
        super().__init__()
        state = torch.Generator().manual_seed(3)
        self.first = nn.Parameter(torch.randn(16, 3 * 6 * 8, generator=state) * 0.1)
        self.second = nn.Parameter(torch.randn(3, 16, generator=state))

    def forward(self, images: Tensor) -> Tensor:
        return torch.tanh(images.flatten(1) @ self.first.T) @ self.second.T


def picture() -> np.ndarray:  # type: ignore[type-arg]
    return np.random.default_rng(4).random((6, 8, 3), dtype=np.float32)


@pytest.mark.parametrize("answers", [(0,), (2,), (0, 1)])
def test_integrated_gradients_are_complete(answers: tuple[int, ...]) -> None:
    """Their sum is f(x) - f(baseline) (Sundararajan et al. 2017, proposition 1); with one step it is not."""
    module, image = Smooth(), picture()
    value = fixed_answers(module, answers)
    pixels, black = torch.from_numpy(image.transpose(2, 0, 1))[None], np.zeros_like(image)
    due = float((value(pixels) - value(torch.zeros_like(pixels))).detach())
    many = integrated_gradients(module, image, black, answers, PathIntegral())
    attribution = integrated_gradients(module, image, black, answers, PathIntegral(steps=1))
    assert many.change == pytest.approx(due)
    assert many.completeness_gap is not None
    assert attribution.completeness_gap is not None
    assert many.completeness_gap < 1e-5 * max(1.0, abs(due))
    assert attribution.completeness_gap > 100 * many.completeness_gap
    gray = integrated_gradients(module, image, np.full_like(image, 0.5), answers, PathIntegral())
    assert gray.completeness_gap is not None
    assert gray.completeness_gap < 1e-5
    assert not np.allclose(gray.map, many.map)


class Torn(nn.Module):
    """Two answers, and a picture at which they tie; the noise decides which is the larger."""

    slope = 4.0

    def forward(self, images: Tensor) -> Tensor:
        x = (images - 0.5).sum(dim=(1, 2, 3))
        return torch.stack((self.slope * x, -self.slope * x), dim=1)


def test_the_answer_is_fixed_for_every_noisy_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """D12 of the published code is planted: it explained the largest logit, taken anew for each noisy copy."""
    image, how = np.full((4, 5, 3), 0.5, dtype=np.float32), SmoothGrad(noise=0.15, samples=400, batch=100)

    def slope(answer: int) -> float:
        return float(smooth_grad(Torn(), image, (answer,), how).map.mean())

    # d log p / dx = 2 s (1 - p) at every pixel and channel; p is symmetric around 1/2, so its mean is s, times 3.
    due = 3 * Torn.slope
    error = 3 * 2 * Torn.slope * 0.5 / np.sqrt(how.samples)  # 1 - p lies in [0, 1]
    assert abs(slope(0) - due) < 4.5 * error
    assert slope(0) + slope(1) == pytest.approx(2 * due)
    monkeypatch.setattr(
        saliency, "fixed_answers", lambda module, _: lambda images: module(images).max(dim=1).values
    )
    wrong = slope(0)
    assert abs(wrong - due) > 4.5 * error
    assert wrong == slope(1)


def test_the_map_is_the_absolute_mean_gradient_summed_over_channels() -> None:
    """Beside a plain loop over noisy copies."""
    module, image, how = Smooth(), picture(), SmoothGrad(samples=3000, batch=500)
    found = smooth_grad(module, image, (1,), how).map
    state = torch.Generator().manual_seed(9)
    pixels = torch.from_numpy(image.transpose(2, 0, 1))[None]
    noisy = pixels + how.noise * torch.randn(3000, *pixels.shape[1:], generator=state)
    noisy.requires_grad_()
    module(noisy).double().log_softmax(dim=1)[:, 1].sum().backward()
    assert noisy.grad is not None
    due = noisy.grad.mean(dim=0).abs().sum(dim=0).numpy()
    np.testing.assert_allclose(found, due, atol=0.03 * due.max())
    plain = smooth_grad(module, image, (1,), SmoothGrad(noise=1e-6, samples=1)).map
    assert not np.allclose(plain, due, atol=0.03 * due.max())  # the noise matters here


def test_the_same_seed_gives_the_same_map_and_leaves_torch_alone() -> None:
    torch.manual_seed(11)
    due = torch.rand(3)
    torch.manual_seed(11)
    maps = [smooth_grad(Smooth(), picture(), (0,), SmoothGrad(seed=seed)).map for seed in (0, 0, 1)]
    assert torch.equal(torch.rand(3), due)
    np.testing.assert_array_equal(maps[0], maps[1])
    assert not np.array_equal(maps[0], maps[2])
    assert maps[0].dtype == np.float32
    assert (maps[0] >= 0).all()


class Detached(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        return torch.stack((images.detach().mean(dim=(1, 2, 3)),) * len(ANSWERS), dim=1)


def test_a_module_without_gradients_is_said_to_be_one(tmp_path: Path) -> None:
    image = picture()
    with pytest.raises(NoGradientsError, match="no gradients"):
        smooth_grad(Detached(), image, (0,), SmoothGrad())
    with pytest.raises(NoGradientsError, match="no gradients"):
        integrated_gradients(Detached(), image, np.zeros_like(image), (0,), PathIntegral())


def test_without_captum_the_rest_is_explained_and_the_maps_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: the reason is stored as if the model gave no maps, so installing the extra changes nothing."""
    with coded_run(tmp_path, looks_at({0: 18.0})) as scores:
        monkeypatch.setattr(saliency_masks, "find_spec", lambda name: None)
        explanation = explain_scene(scores, found(scores, SCENE), SALIENCY, None)
        assert explanation.removals and explanation.saliency is not None and not explanation.saliency.maps
        assert "pip install 'bayes-trex[saliency]'" in explanation.saliency.why_none
        assert is_complete(explanation, SALIENCY, scores.is_torn), "nothing can be added without the extra"
        monkeypatch.undo()
        assert not is_complete(explanation, SALIENCY, scores.is_torn)
        again = explain_scene(scores, found(scores, SCENE), SALIENCY, explanation)
    assert again.saliency is not None and len(again.saliency.maps) == 2


def test_rank_correlation() -> None:
    assert rank_correlation([3.0, 1.0, 2.0], [30.0, 10.0, 20.0]) == pytest.approx(1.0)
    assert rank_correlation([3.0, 1.0, 2.0], [1.0, 30.0, 20.0]) == pytest.approx(-1.0)
    assert rank_correlation([1.0, 2.0], [1.0, 2.0]) is None
    assert rank_correlation([1.0, 2.0, 3.0], [0.0, 0.0, 0.0]) is None
