"""Fine-tuning: weight 0 is an exact control, further scenes are learned, and a kept-out scene is not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trex.clevr_models.percept.model import Percept, load_shipped
from trex.clevr_models.percept.train import Labels, grid_loss
from trex.clevr_models.percept.training_data import Scenes, labelled, to_pixels
from trex.clevr_models.percept.tune import LEAST, tune
from trex.foundation.errors import InputError
from trex.render.fake import FakeRenderer
from trex.scenes.prior import ScenePrior
from trex.scenes.vocabulary import CLEVR

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def drawn() -> Scenes:
    """Flat drawings of three objects, which are new to the shipped model."""
    rng = np.random.default_rng(3)
    scenes = [ScenePrior(n_objects=(3, 3)).sample(rng) for _ in range(LEAST + 6)]
    pictures = FakeRenderer(120, 80, vocabulary=CLEVR).render(scenes)
    return labelled(scenes, [picture.pixels for picture in pictures])


def tuned(ordinary: Scenes, further: Scenes, weight: float, device: str = "cpu") -> Percept:
    start = load_shipped().percept
    return tune(start, ordinary, further, weight, seed=1, epochs=1, batch_size=8, rate=1e-3, device=device)


def weights(percept: Percept) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in percept.parameters()])


def loss(percept: Percept, scenes: Scenes) -> float:
    labels = Labels(*(torch.from_numpy(scene) for scene in scenes[2:]))
    with torch.no_grad():
        return float(grid_loss(percept.network(to_pixels(scenes.pictures)), labels).total)


@pytest.mark.slow
def test_weight_zero_does_not_look_at_the_further_scenes_and_another_weight_learns_them(
    drawn: Scenes,
) -> None:
    ordinary, further = drawn.take(np.arange(LEAST)), drawn.take(np.arange(LEAST, LEAST + 6))
    other = further.take(np.array([0, 0]))
    zero, again, percept = (
        tuned(ordinary, extra, weight) for extra, weight in ((further, 0.0), (other, 0.0), (further, 1.0))
    )
    assert torch.equal(weights(zero), weights(again))
    assert not torch.equal(weights(zero), weights(load_shipped().percept))
    assert loss(percept, further) < loss(zero, further)


@pytest.mark.slow
def test_the_scenes_kept_out_for_the_calibration_are_not_trained_on(drawn: Scenes) -> None:
    ordinary, further = drawn.take(np.arange(LEAST)), drawn.take(np.arange(1))
    pictures = ordinary.pictures.copy()
    pictures[24] = 255 - pictures[24]  # the only scene of these that is kept out
    turned = tuned(ordinary._replace(pictures=pictures), further, 0.0)
    plain = tuned(ordinary, further, 0.0)
    same = zip(turned.network.parameters(), plain.network.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in same)
    assert not torch.equal(turned.calibration.presence_scale, plain.calibration.presence_scale)


def test_too_few_ordinary_scenes_are_refused(drawn: Scenes) -> None:
    with pytest.raises(InputError, match="too few to tune on"):
        tuned(drawn.take(np.arange(LEAST - 1)), drawn, 1.0)


def test_a_device_that_is_not_there_is_refused(drawn: Scenes) -> None:
    with pytest.raises(InputError, match="'abacus' is not known"):
        tuned(drawn.take(np.arange(LEAST)), drawn, 1.0, "abacus")


@pytest.mark.gpu
def test_a_gpu_learns_the_further_scenes_and_gives_weights_for_the_cpu(drawn: Scenes) -> None:
    if not torch.cuda.is_available():
        pytest.skip("torch finds no CUDA device on this machine")
    ordinary, further = drawn.take(np.arange(LEAST)), drawn.take(np.arange(LEAST, LEAST + 6))
    zero, percept = (tuned(ordinary, further, weight, "cuda") for weight in (0.0, 1.0))
    assert weights(percept).device.type == "cpu"
    assert loss(percept, further) < loss(zero, further)
    assert loss(percept, further) < loss(load_shipped().percept, further)
