"""An object's situation as a vector, by hand; and what a reader says of planted maps."""

from __future__ import annotations

import math
from dataclasses import replace

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
from trex.repair.scenes.reading import MISSED, RIGHT, PerceptReader
from trex.repair.scenes.vectors import NUMBERS, scale_of, vector
from trex.scenes.graph import Facts, facts_of
from trex.scenes.prior import ScenePrior
from trex.scenes.properties import RADIUS
from trex.scenes.scene import Nuisances, Scene, SceneObject
from trex.scenes.validity import BEHIND
from trex.scenes.validity import RIGHT as TO_RIGHT
from trex.scenes.vocabulary import CLEVR


def thing(right: float, behind: float, size: str = "small", **values: str) -> SceneObject:
    """An object at a place along CLEVR's right and behind."""
    x, y = (right * TO_RIGHT[k] + behind * BEHIND[k] for k in range(2))
    known = {"shape": "cube", "color": "red", "material": "metal", **values}
    return SceneObject(known["shape"], size, known["color"], known["material"], x, y, 0.0)


def test_the_vector_has_place_neighbor_and_categories() -> None:
    items = (thing(0.5, -0.25), thing(0.5, 1.75, "large", material="rubber"), thing(-2.5, -0.25))
    scene = Scene(items, Nuisances(camera=(0.1, -0.2, 0.3)))
    facts = Facts(scene, (0.5, 1.0, 1.0), (1, None, None))
    found = vector(facts, 0, CLEVR)
    gap = 2.0 - RADIUS["small"] - RADIUS["large"]  # the large one behind is nearest by its outline
    ratio = math.log(RADIUS["large"] / RADIUS["small"])
    expected = [0.5, -0.25, math.log(0.5), gap, 1.0, 0.0, ratio, 0.1, -0.2, 0.3]
    assert found[: len(NUMBERS)] == pytest.approx(expected, abs=1e-6)
    assert found[len(NUMBERS) :].sum() == 4 + 2  # its own attributes, size and material of the neighbor
    other = replace(scene, objects=(items[0], items[2], items[1]))
    turned = vector(Facts(other, (0.5, 1.0, 1.0), (2, None, None)), 0, CLEVR)
    assert np.array_equal(turned, found)  # the order of the others does not count


def test_a_lone_object_has_no_neighbor() -> None:
    facts = Facts(Scene((thing(0.0, 0.0),), Nuisances()), (1.0,), (None,))
    assert vector(facts, 0, CLEVR)[3] == 6.0 and vector(facts, 0, CLEVR)[len(NUMBERS) :].sum() == 4


def test_a_category_weighs_as_much_as_a_number() -> None:
    rng = np.random.default_rng(0)
    scenes = [ScenePrior(n_objects=(3, 4)).sample(rng) for _ in range(60)]
    rows = np.stack([vector(facts_of(one, CLEVR), 0, CLEVR) for one in scenes])
    whole = scale_of(rows, rows, CLEVR, 40)
    standard = (rows - whole.mean) / whole.deviation
    assert standard[:, : len(NUMBERS)].var(axis=0) == pytest.approx(np.ones(len(NUMBERS)))
    colors = standard[:, len(NUMBERS) + 5 : len(NUMBERS) + 13]
    assert colors.var(axis=0).sum() == pytest.approx(1.0)
    few = scale_of(rows, rows, CLEVR, 5)
    spread = few.codes(rows).std(axis=0)
    assert few.codes(rows).shape == (60, 5) and list(spread) == sorted(spread, reverse=True)


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
        assert PerceptReader(percept).read([scene], [picture]) == [expected]


def test_labelled_scenes_are_what_the_training_reads() -> None:
    scene = Scene((thing(0.0, 0.0), thing(1.5, 1.0)), Nuisances())
    (picture,) = FakeRenderer(120, 80, vocabulary=CLEVR).render([scene])
    found = labelled([scene], [picture.pixels])
    assert found.pictures.shape == (1, 160, 240, 3) and found.numbers.tolist() == [2]
    assert found.positions[0, :2] == pytest.approx(np.array([[0.0, 0.0], [1.5, 1.0]]), abs=1e-6)
    assert isinstance(Labels(*map(torch.from_numpy, found[2:])), Labels)
