"""Trains the shipped model: pictures, objects, calibration (`trex models train clevr`)."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from trex.artifacts.card import read_card
from trex.artifacts.checkpoint import load_checkpoint, save_checkpoint
from trex.artifacts.precision import half_precision, training_device
from trex.artifacts.weights import compact, expand, load_into, read_safetensors, write_safetensors
from trex.clevr_models.interface.question import ATTRIBUTE_VALUES
from trex.clevr_models.percept.calibrate import calibrate
from trex.clevr_models.percept.model import Percept, channels_last
from trex.clevr_models.percept.network import GRID, split_maps
from trex.clevr_models.percept.options import TrainOptions
from trex.clevr_models.percept.training_data import Scenes, disturb, kept_out, load_scenes, mirror, to_pixels
from trex.foundation.json_fields import listed
from trex.foundation.progress import Progress, silent

SPREAD = 1.0  # cells: how far a center's neighbors are excused (Zhou et al. 2019, "Objects as Points")
EXCUSE = 4.0  # power of the excuse, likewise
NEIGHBOR_WEIGHT = 0.3  # of the cells around a center, in learning attributes and positions
POSITION_WEIGHT = 2.0


class Labels(NamedTuple):
    """A batch of true scenes, as in Scenes."""

    numbers: Tensor  # (B,) objects in each
    cells: Tensor  # (B, 10, 2)
    attributes: Tensor  # (B, 10, 4)
    positions: Tensor  # (B, 10, 2)


class Loss(NamedTuple):
    """The parts of the loss, each a mean; training minimizes `total`."""

    total: Tensor
    presence: Tensor
    attributes: Tensor
    position: Tensor


def grid_loss(maps: Tensor, labels: Labels) -> Loss:
    """The loss of the network's maps (B, 18, 40, 60)."""
    fields = split_maps(maps)
    distance, owner = _nearest(labels)  # squared, in cells; (B, 40, 60) each
    presence = _presence_loss(fields["presence"][:, 0], distance, labels.numbers.sum())
    weight = torch.where(distance == 0, 1.0, torch.where(distance <= 2, NEIGHBOR_WEIGHT, 0.0))
    at = weight > 0
    batch, rows, columns = at.nonzero(as_tuple=True)
    item = owner[at]
    weights = weight[at] / weight[at].sum().clamp_min(1.0)
    attributes = presence.new_zeros(())
    for slot, name in enumerate(ATTRIBUTE_VALUES):
        logits = fields[name].permute(0, 2, 3, 1)[batch, rows, columns]  # (M, V)
        wrong = functional.cross_entropy(logits, labels.attributes[batch, item, slot], reduction="none")
        attributes = attributes + (wrong * weights).sum()
    places = fields["position"].permute(0, 2, 3, 1)[batch, rows, columns]  # (M, 2)
    off = functional.smooth_l1_loss(places, labels.positions[batch, item], beta=0.2, reduction="none").sum(
        dim=1
    )
    position = (off * weights).sum()
    return Loss(presence + attributes + POSITION_WEIGHT * position, presence, attributes, position)


def _nearest(labels: Labels) -> tuple[Tensor, Tensor]:
    """For each cell the squared distance to the nearest center, and whose center it is."""
    device = labels.cells.device
    rows = torch.arange(GRID[0], device=device)[:, None]
    columns = torch.arange(GRID[1], device=device)[None, :]
    centers = labels.cells[:, :, :, None, None]  # (B, 10, 2, 1, 1)
    squared = (centers[:, :, 0] - rows) ** 2 + (centers[:, :, 1] - columns) ** 2  # (B, 10, 40, 60)
    least = squared.min(dim=1)
    return least.values, least.indices


def _presence_loss(logits: Tensor, distance: Tensor, objects: Tensor) -> Tensor:
    """Cross entropy of "a center is here", a mean over objects; cells beside a center are nearly excused."""
    excuse = 1.0 - torch.exp(-distance / (2.0 * SPREAD**2))
    here = (distance == 0).to(logits.dtype)
    weight = torch.where(distance == 0, 1.0, excuse**EXCUSE)
    wrong = functional.binary_cross_entropy_with_logits(logits, here, weight=weight, reduction="sum")
    return wrong / objects.clamp_min(1)


LEARNING_RATE = 3e-3  # peak value: rises over the first 5% of the steps, then falls to zero along a cosine
WARMUP = 0.05
WEIGHT_DECAY = 1e-3
CHECKPOINT_S = 120.0
STEPS = "training steps"
EVERY = 20  # steps between two reports of the losses


@dataclass(frozen=True)
class Settings:
    """Everything that decides the weights, except the data. A checkpoint with other settings is rejected."""

    seed: int
    epochs: int
    batch_size: int
    limit: int | None
    scenes: int
    start: str  # sha256 of the initial weights, or ""


def train(options: TrainOptions, progress: Progress = silent) -> Path:
    """Train on the scenes of split "train"; return the weights' path, OUT/percept.safetensors.

    After a kill at any moment it resumes from its last checkpoint in OUT. Every 25th scene is held out for calibration.
    Raises InputError for bad data, RunError for another run's folder.
    """
    target, start = training_device(options.device), options.start
    scenes = load_scenes(options.dataset, "train", options.limit)
    fresh = str(read_card(start)["sha256"]) if start else ""
    settings = Settings(
        options.seed, options.epochs, options.batch_size, options.limit, len(scenes.numbers), fresh
    )
    torch.manual_seed(options.seed)
    percept = Percept()
    if start:
        load_into(percept, expand(read_safetensors(start)), start)
    channels_last(percept.to(target))
    held = kept_out(len(scenes.numbers))
    _fit(percept, (scenes, np.flatnonzero(~held)), settings, options.out, progress)
    percept.eval()
    calibrate(percept, scenes.take(np.flatnonzero(held)))
    weights = options.out / "percept.safetensors"
    write_safetensors(weights, compact(percept), {"model": "percept", "training": _history(start, settings)})
    return weights


def _history(start: Path | None, settings: Settings) -> list[object]:
    """How the weights came about: every training in order, each with its command."""
    before = listed(read_card(start).get("training", []), "training") if start else []
    words = {"seed": settings.seed, "epochs": settings.epochs, "batch-size": settings.batch_size}
    options = [f"--{name} {value}" for name, value in words.items()]
    if settings.limit is not None:
        options.append(f"--limit {settings.limit}")
    if settings.start:
        options.append("--start WEIGHTS_BEFORE")
    command = " ".join(("trex models train clevr --dataset DATASET --out OUT", *options))
    return [*before, {"command": command, **asdict(settings)}]


def _fit(
    percept: Percept,
    data: tuple[Scenes, NDArray[np.int64]],
    settings: Settings,
    out: Path,
    progress: Progress,
) -> None:
    scenes, rows = data
    percept.train()
    weights = list(percept.network.parameters())
    optimizer = torch.optim.AdamW(weights, lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    batch_size = min(settings.batch_size, len(rows))
    steps_an_epoch = max(len(rows) // max(batch_size, 1), 1)
    total = steps_an_epoch * settings.epochs
    checkpoint, parts = out / "checkpoint.safetensors", ({"model": percept}, {"optimizer": optimizer})
    first = load_checkpoint(checkpoint, *parts, asdict(settings), total)
    losses: list[Loss] = []
    saved = time.monotonic()
    progress(STEPS, first, total)
    for step in range(first, total):
        epoch, place = divmod(step, steps_an_epoch)
        order = np.random.default_rng((settings.seed, epoch)).permutation(rows)
        rng = np.random.default_rng((settings.seed, epoch, place))
        batch = mirror(scenes.take(order[place * batch_size : (place + 1) * batch_size]), rng)
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * _schedule(step / total)
        losses.append(_step(percept, optimizer, batch, rng))
        if len(losses) == EVERY or step == total - 1:  # not at each step: reading a loss stalls the device
            mean = [float(torch.stack(each).mean()) for each in zip(*losses, strict=True)]
            losses.clear()
            words = "loss {:.3f} (presence {:.3f}, attributes {:.3f}, position {:.4f})".format(*mean)
            progress(STEPS, step + 1, total, words)
        if time.monotonic() - saved > CHECKPOINT_S or step == total - 1:
            save_checkpoint(checkpoint, *parts, step + 1, asdict(settings))
            saved = time.monotonic()


def _schedule(done: float) -> float:
    if done < WARMUP:
        return 0.02 + 0.98 * done / WARMUP
    return 0.5 * (1.0 + math.cos(math.pi * (done - WARMUP) / (1.0 - WARMUP)))


def batch_loss(percept: Percept, batch: Scenes, rng: np.random.Generator) -> Loss:
    """The loss of a batch on the model's device, each picture with its own brightness and noise, drawn there."""
    device = next(percept.parameters()).device
    generator = torch.Generator(device).manual_seed(int(rng.integers(2**62)))
    pixels = disturb(to_pixels(batch.pictures, device), generator)
    arrays = (batch.numbers, batch.cells, batch.attributes, batch.positions)
    labels = Labels(*(torch.from_numpy(array).to(device) for array in arrays))
    with half_precision(device.type):
        features = percept.network.features(pixels)
    return grid_loss(percept.network.evidence(features), labels)


def _step(
    percept: Percept, optimizer: torch.optim.Optimizer, batch: Scenes, rng: np.random.Generator
) -> Loss:
    loss = batch_loss(percept, batch, rng)
    optimizer.zero_grad(set_to_none=True)
    loss.total.backward()
    torch.nn.utils.clip_grad_norm_(percept.network.parameters(), 5.0)
    optimizer.step()
    return Loss(*(part.detach() for part in loss))
