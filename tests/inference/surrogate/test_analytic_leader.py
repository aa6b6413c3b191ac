"""The shaded look as leader: exact on the tiny world, and of chains that Blender decides; its bugs are caught."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pytest
from scipy import stats

from tests.references.rank_test import RankTest, p_values, rank_histograms, smallest
from tests.references.statistics import ALPHA
from tests.simulations.surrogate_worlds import Uncorrected, led_by, surrogate_matrix
from tests.simulations.tiny_world import COLORS, PLACES, VALID, Tiny, kernel, posterior, states
from tests.simulations.toy import Pixel, PixelClassifier
from tests.worlds.tiny_scene_world import STATISTICS
from trex.clevr_models.fake import ColorArea
from trex.inference.metropolis import Metropolis
from trex.inference.scoring import Scorer
from trex.inference.surrogate import Surrogate
from trex.inference.targets import high_confidence
from trex.inference.types import Floats
from trex.render.analytic.look import AnalyticRenderer, shipped_weights
from trex.render.blender.blender_renderer import BlenderRenderer
from trex.scenes.moves.block_moves import RedrawObjects
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Nuisances, Scene, SceneObject
from trex.scenes.vocabulary import CLEVR

ROUNDING = 1e-15
SIZE = (60, 40)
RING = [(2.2 * np.cos(turn), 2.2 * np.sin(turn)) for turn in 2 * np.pi * np.arange(PLACES) / PLACES]
HUES = ("red", "green", "blue", "yellow")


@cache
def scene_of(z: Tiny) -> Scene:
    """A large rubber sphere and a small metal cylinder on a ring; the color is that of both."""
    (ax, ay), (bx, by), hue = RING[z[0]], RING[z[1]], HUES[z[2]]
    sphere = SceneObject("sphere", "large", hue, "rubber", float(ax), float(ay), 0.0)
    cylinder = SceneObject("cylinder", "small", hue, "metal", float(bx), float(by), 0.0)
    return Scene((sphere, cylinder), Nuisances())


@dataclass(frozen=True)
class Shaded:
    """The tiny world as the shaded look shows it: the mean colors of a third of the picture each, stretched."""

    renderer: AnalyticRenderer = field(default_factory=lambda: AnalyticRenderer(*SIZE))

    def render(self, zs: Sequence[Tiny]) -> list[Pixel]:
        return [self._pixel(z) for z in zs]

    def _pixel(self, z: Tiny) -> Pixel:
        (picture,) = self.renderer.render([scene_of(z)])
        parts = np.array_split(picture.pixels, 3, axis=1)
        means = np.array([part[..., channel].mean() for channel, part in enumerate(parts)])
        stretched = np.array([30.0, 10.0, 0.0]) * (means - 115.0)
        return Pixel(np.clip(stretched, 0.0, 255.0).astype(np.uint8)[None, None])


@dataclass(frozen=True)
class Refitted(Shaded):
    """Planted: the weights follow the pictures that have been shaded so far, so that a score is that of its moment."""

    count: list[int] = field(default_factory=lambda: [0])

    def render(self, zs: Sequence[Tiny]) -> list[Pixel]:
        self.count[0] += 1
        gain = 1.0 + 0.8 * (self.count[0] % 2)
        now = AnalyticRenderer(*SIZE, weights=gain * shipped_weights())
        return Shaded(now).render(zs)


@dataclass(frozen=True)
class Kept(Shaded):
    """Each state's pixel, shaded once: the pictures are a pure function of the state, which is tested elsewhere."""

    known: dict[Tiny, Pixel] = field(default_factory=dict)

    def render(self, zs: Sequence[Tiny]) -> list[Pixel]:
        for z in zs:
            if z not in self.known:
                self.known[z] = self._pixel(z)
        return [self.known[z] for z in zs]


SHADED = Kept()
START: Tiny = (0, 3, 2)  # from which steps move most


def led(cheap: Shaded, n_inner: int) -> Surrogate[Tiny]:
    return led_by(kernel(), Scorer(cheap, PixelClassifier(), batch=256), n_inner)


def test_a_chain_that_it_leads_is_in_detailed_balance_with_the_posterior() -> None:
    of = led(SHADED, 3)
    matrix, exact = surrogate_matrix(of), posterior(of.deciding)
    flow = exact[:, None] * matrix
    assert np.abs(flow - flow.T).max() < ROUNDING
    assert np.abs(exact @ matrix - exact).max() < ROUNDING
    cheap = [state.log_weight for state in states(of.leading)]
    dear = [state.log_weight for state in states(of.deciding)]
    assert len({round(weight, 6) for weight in cheap}) > len(VALID) // COLORS, "it tells states apart"
    assert abs(stats.spearmanr(cheap, dear).statistic) < 0.999, "it is another look"


def p_value(cheap: Shaded, start: Tiny, n: int) -> float:
    """Of the ends of n steps, against the exact row of the chain that the shipped weights lead."""
    of, row = led(cheap, 2), surrogate_matrix(led(SHADED, 2))[VALID.index(start)]
    rng, state = np.random.default_rng(4), states(of.deciding)[VALID.index(start)]
    ends = [VALID.index(of.step([rng], [state])[0].z) for _ in range(n)]
    counts: Floats = np.bincount(ends, minlength=len(VALID)).astype(np.float64)
    common = row > 5.0 / n
    cells = [(counts[common], n * row[common]), (counts[~common].sum(), n * row[~common].sum())]
    observed, due = (np.hstack(each) for each in zip(*cells, strict=True))
    assert due[-1] > 0.0
    return float(stats.chisquare(observed, due).pvalue)


def test_its_steps_follow_the_exact_row() -> None:
    assert p_value(SHADED, START, 3_000) > ALPHA


def test_steps_with_weights_that_are_refitted_during_a_chain_do_not() -> None:
    assert p_value(Refitted(), START, 600) < ALPHA


MODEL = ColorArea(unit=0.003, width=0.7)
LEADING = Scorer(
    AnalyticRenderer(60, 40), replace(MODEL, color="blue"), batch=1
)  # an error that is not small
N, LENGTH, N_INNER = 300, 3, 2


@pytest.fixture(scope="module")
def deciding() -> Iterator[Metropolis[Scene]]:
    """Scenes of two objects at preset `draft`."""
    target = high_confidence(MODEL.labels, "1", width=0.1)
    with BlenderRenderer("draft", "cpu") as blender:
        yield Metropolis(
            ScenePrior(CLEVR, (2, 2)), RedrawObjects(CLEVR), Scorer(blender, MODEL, batch=N), target
        )


@pytest.mark.nightly
@pytest.mark.blender
@pytest.mark.parametrize(("kind", "is_right"), [(Surrogate, True), (Uncorrected, False)])
def test_ranks_of_rendered_scenes_that_it_leads(
    deciding: Metropolis[Scene], kind: type[Surrogate[Scene]], is_right: bool
) -> None:
    found = p_values(
        rank_histograms(
            RankTest(deciding, STATISTICS, N, LENGTH, seed=43),
            lambda rng, kernels, states: [
                led_by(kernel, LEADING, N_INNER, kind).step([rng], [state])[0].state
                for kernel, state in zip(kernels, states, strict=True)
            ],
        )
    )
    assert (smallest(found) > ALPHA) is is_right, found
