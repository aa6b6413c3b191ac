"""Object tables and programs for the tests of the shipped CLEVR model."""

from __future__ import annotations

import numpy as np
import torch

from trex.clevr_models.interface.question import ATTRIBUTE_VALUES
from trex.clevr_models.percept.network import CANDIDATES, ObjectTable, relate_all
from trex.clevr_models.percept.training_data import BEHIND, RIGHT
from trex.scenes.questions.programs import Program, Step
from trex.scenes.scene import Scene

SURE = 1e6


def perfect_table(scene: Scene) -> ObjectTable:
    """(1, K) the table of somebody who knows the scene; the rows beyond its objects are absent, with odd attributes."""
    presence = torch.zeros(1, CANDIDATES, dtype=torch.float64)
    presence[0, : len(scene.objects)] = 1.0
    attributes = []
    for name, values in ATTRIBUTE_VALUES.items():
        probs = torch.full((1, CANDIDATES, len(values)), 1.0 / len(values), dtype=torch.float64)
        for row, item in enumerate(scene.objects):
            probs[0, row] = torch.tensor([float(getattr(item, name) == value) for value in values])
        attributes.append(probs)
    places = np.array([(o.x, o.y) for o in scene.objects]) @ np.array([RIGHT, BEHIND]).T
    position = torch.zeros(1, CANDIDATES, 2, dtype=torch.float64)
    position[0, : len(places)] = torch.from_numpy(places)
    related = relate_all(position, torch.tensor(0.2), torch.tensor(SURE))
    shape, size, color, material = attributes
    return ObjectTable(presence, shape, size, color, material, position, related)


def random_table(seed: int, rows: int, batch: int = 1) -> ObjectTable:
    """(batch, rows) a table of any doubts whatever."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    attributes = [torch.softmax(draw(batch, rows, len(v)), dim=2) for v in ATTRIBUTE_VALUES.values()]
    position = 2.0 * draw(batch, rows, 2)
    related = relate_all(position, torch.tensor(0.2), torch.tensor(2.0))
    shape, size, color, material = attributes
    return ObjectTable(torch.sigmoid(draw(batch, rows)), shape, size, color, material, position, related)


def chain(*steps: str) -> Program:
    """A program without branches: chain("scene", "filter_color red", "count")."""
    found = []
    for index, text in enumerate(steps):
        function, *words = text.split()
        found.append(Step(function, (index - 1,) if index else (), tuple(words)))
    return tuple(found)
