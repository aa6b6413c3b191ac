"""What a model is found to say of each object, on planted maps."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from trex.clevr_models.interface.question import ATTRIBUTE_VALUES
from trex.clevr_models.percept.model import Percept
from trex.clevr_models.percept.network import CHANNELS
from trex.clevr_models.percept.train import Labels
from trex.clevr_models.percept.training_data import Scenes, labelled
from trex.render.fake import FakeRenderer
from trex.repair.scenes.reading import MISSED, RIGHT, read
from trex.scenes.scene import Nuisances, Scene, SceneObject
from trex.scenes.validity import BEHIND
from trex.scenes.validity import RIGHT as TO_RIGHT
from trex.scenes.vocabulary import CLEVR


def thing(right: float, behind: float, size: str = "small", **values: str) -> SceneObject:
    """An object at a place along CLEVR's right and behind."""
    x, y = (right * TO_RIGHT[k] + behind * BEHIND[k] for k in range(2))
    known = {"shape": "cube", "color": "red", "material": "metal", **values}
    return SceneObject(known["shape"], size, known["color"], known["material"], x, y, 0.0)


class Maps(nn.Module):
    """A network whose maps are those of the truth, but for what is planted."""

    def __init__(self, truth: Scenes, missed: int, taken: int) -> None:
        super().__init__()
        maps = torch.full((1, sum(CHANNELS.values()), 40, 60), -10.0)
        for k in range(int(truth.numbers[0])):
            row, column = truth.cells[0, k]
            if k != missed:
                maps[0, 0, row, column] = 10.0
            first = 1
            for slot, (name, values) in enumerate(ATTRIBUTE_VALUES.items()):
                value = int(truth.attributes[0, k, slot])
                if k == taken and name == "shape":
                    value = (value + 1) % len(values)
                maps[0, first + value, row, column] = 10.0
                first += len(values)
        self.maps = maps

    def forward(self, pixels: Tensor) -> Tensor:
        """The same maps for any picture."""
        return self.maps


def test_the_reader_tells_what_is_missed_and_what_an_object_is_taken_for() -> None:
    scene = Scene((thing(0.0, 0.0), thing(2.0, 1.0, "large"), thing(-2.0, -1.5, shape="sphere")), Nuisances())
    (picture,) = FakeRenderer(120, 80, vocabulary=CLEVR).render([scene])
    truth = labelled([scene], [picture.pixels])
    percept = Percept()
    for missed, taken, expected in ((9, 9, (RIGHT,) * 3), (1, 0, ("shape sphere", MISSED, RIGHT))):
        percept.network = Maps(truth, missed, taken)  # type: ignore[assignment]
        assert read(percept, [scene], [picture]) == [expected]


def test_labelled_scenes_are_what_the_training_reads() -> None:
    scene = Scene((thing(0.0, 0.0), thing(1.5, 1.0)), Nuisances())
    (picture,) = FakeRenderer(120, 80, vocabulary=CLEVR).render([scene])
    found = labelled([scene], [picture.pixels])
    assert found.pictures.shape == (1, 160, 240, 3) and found.numbers.tolist() == [2]
    assert found.positions[0, :2] == pytest.approx(np.array([[0.0, 0.0], [1.5, 1.0]]), abs=1e-6)
    assert isinstance(Labels(*map(torch.from_numpy, found[2:])), Labels)
