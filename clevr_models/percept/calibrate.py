"""Fit the few numbers between evidence and probabilities, on scenes kept out of the training."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from trex.clevr_models.interface.question import ATTRIBUTE_VALUES
from trex.clevr_models.percept.model import Percept
from trex.clevr_models.percept.network import GRID, Evidence, find_peaks, relate_all
from trex.clevr_models.percept.training_data import Scenes, to_pixels

REACH = 2.0  # cells: largest distance of a peak from the object's true center
RELATED = 0.2  # CLEVR's margin, Blender units
STEPS = 300
RATE = 0.03
BATCH = 32


def look(percept: Percept, scenes: Scenes) -> Evidence:
    """The evidence of all scenes, on the CPU, in float32."""
    device = next(percept.parameters()).device
    found = []
    with torch.no_grad():
        for begin in range(0, len(scenes.numbers), BATCH):
            pixels = to_pixels(scenes.pictures[begin : begin + BATCH], device)
            found.append(Evidence(*(field.cpu() for field in find_peaks(percept.network(pixels)))))
    return Evidence(*(torch.cat(fields) for fields in zip(*found, strict=True)))


def match(evidence: Evidence, scenes: Scenes) -> NDArray[np.int64]:
    """(N, K) the object that each peak stands for, -1 for none: strongest peak first, each object once."""
    cells = evidence.cell.numpy()
    places = np.stack((cells // GRID[1], cells % GRID[1]), axis=2)  # (N, K, 2)
    distance = np.linalg.norm(places[:, :, None] - scenes.cells[:, None], axis=3)  # (N, K, 10)
    items = np.full(cells.shape, -1, np.int64)
    for row in range(len(items)):
        for peak in range(items.shape[1]):  # peaks come strongest first
            nearest = int(distance[row, peak].argmin())
            if distance[row, peak, nearest] <= REACH:
                items[row, peak] = nearest
                distance[row, :, nearest] = np.inf
    return items


def calibrate(percept: Percept, scenes: Scenes) -> None:
    """Set the calibration of `percept` to maximize the likelihood of the true scenes."""
    evidence = look(percept, scenes)
    items = torch.from_numpy(match(evidence, scenes))
    calibration = percept.calibration.cpu()
    optimizer = torch.optim.Adam(calibration.parameters(), lr=RATE)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = _presence_loss(percept, evidence, items) + _attribute_loss(percept, evidence, items, scenes)
        loss = loss + _relation_loss(percept, evidence, items, scenes)
        loss.backward()
        optimizer.step()
    percept.calibration.to(next(percept.network.parameters()).device)


def _presence_loss(percept: Percept, evidence: Evidence, items: Tensor) -> Tensor:
    calibration = percept.calibration
    logits = evidence.presence * calibration.presence_scale + calibration.presence_shift
    return functional.binary_cross_entropy_with_logits(logits, (items >= 0).float())


def _attribute_loss(percept: Percept, evidence: Evidence, items: Tensor, scenes: Scenes) -> Tensor:
    row, peak = (items >= 0).nonzero(as_tuple=True)
    truth = torch.from_numpy(scenes.attributes)[row, items[row, peak]]  # (M, 4)
    loss = torch.zeros(())
    for slot, name in enumerate(ATTRIBUTE_VALUES):
        logits: Tensor = getattr(evidence, name)[row, peak]
        loss = loss + functional.cross_entropy(
            logits * percept.calibration.attribute_scale[slot], truth[:, slot]
        )
    return loss


def _relation_loss(percept: Percept, evidence: Evidence, items: Tensor, scenes: Scenes) -> Tensor:
    calibration = percept.calibration
    is_object = items >= 0
    found = relate_all(evidence.position, calibration.relation_margin, calibration.relation_log_scale.exp())
    item = items.clamp_min(0)
    position = torch.from_numpy(scenes.positions).gather(1, item[:, :, None].expand(-1, -1, 2))
    truth = relate_all(position, torch.tensor(RELATED), torch.tensor(1e6)).round()
    pairs = (is_object[:, :, None] & is_object[:, None, :])[:, None].expand_as(found)
    apart = pairs & ~torch.eye(item.shape[1], dtype=torch.bool)
    wrong = functional.binary_cross_entropy(found.clamp(1e-7, 1 - 1e-7), truth, reduction="none")
    return wrong[apart].mean()
