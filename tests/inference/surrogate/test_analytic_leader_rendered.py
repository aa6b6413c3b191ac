"""The shaded look as leader of chains that Blender's pictures decide: ranks are uniform, and a bug is caught."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.references.rank_test import RankTest, p_values, rank_histograms, smallest
from tests.references.statistics import ALPHA
from tests.simulations.surrogate_worlds import Uncorrected, led_by
from tests.worlds.tiny_scene_world import STATISTICS
from trex.clevr_models.fake import ColorArea
from trex.inference.metropolis import Metropolis
from trex.inference.scoring import Scorer
from trex.inference.surrogate import Surrogate
from trex.inference.targets import high_confidence
from trex.render.analytic.look import AnalyticRenderer
from trex.render.blender.blender_renderer import BlenderRenderer
from trex.scenes.moves.block_moves import RedrawObjects
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR

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
