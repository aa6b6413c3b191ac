"""Fine-tunes trained weights on ordinary scenes and on further ones: L(D) + weight * L(D_f) (Defuse, "correct")."""

from __future__ import annotations

import copy
import math

import numpy as np
import torch

from trex.artifacts.precision import training_device
from trex.artifacts.weights import compact, expand, load_into
from trex.clevr_models.percept.calibrate import calibrate
from trex.clevr_models.percept.model import SHIPPED, Percept
from trex.clevr_models.percept.train import WEIGHT_DECAY, batch_loss
from trex.clevr_models.percept.training_data import Scenes, kept_out, mirror
from trex.foundation.errors import InputError
from trex.foundation.progress import Progress, silent

LEAST = 25  # ordinary scenes, of which every 25th is kept out for the calibration


def tune(
    start: Percept,
    ordinary: Scenes,
    further: Scenes,
    weight: float,
    *,
    seed: int,
    epochs: int,
    batch_size: int,
    rate: float,
    device: str = "cpu",
    progress: Progress = silent,
) -> Percept:
    """A tuned copy of `start` on the CPU, calibrated anew, with its weights as they would be stored.

    A step takes a batch of `ordinary`, which an epoch passes once, and one of equal size of `further`. What is drawn of
    `ordinary` depends on the seed and the step alone, so that weight 0 is an exact control. Batch normalization keeps
    its statistics; the rate falls to zero along a cosine. `device`: cpu, cuda or auto; a GPU draws other noise for the
    pictures than the CPU does, and its weights are not the same to the last bit each time. InputError for fewer than
    LEAST ordinary scenes, or a device that is not there.
    """
    target = training_device(device)
    if len(ordinary.numbers) < LEAST:
        raise InputError(f"{len(ordinary.numbers)} ordinary scenes are too few to tune on; at least {LEAST}")
    percept = copy.deepcopy(start).to(target).requires_grad_(True).eval()
    held = kept_out(len(ordinary.numbers))
    rows = np.flatnonzero(~held)
    optimizer = torch.optim.AdamW(percept.network.parameters(), lr=rate, weight_decay=WEIGHT_DECAY)
    size = min(batch_size, len(rows))
    steps = len(rows) // size
    for step in range(steps * epochs):
        epoch, place = divmod(step, steps)
        order = np.random.default_rng((seed, epoch)).permutation(rows)
        loss = _loss(percept, ordinary.take(order[place * size : (place + 1) * size]), (seed, epoch, place))
        if weight > 0.0:
            drawn = np.random.default_rng((seed, epoch, place, 1)).integers(len(further.numbers), size=size)
            loss = loss + weight * _loss(percept, further.take(drawn), (seed, epoch, place, 2))
        for group in optimizer.param_groups:
            group["lr"] = rate * 0.5 * (1.0 + math.cos(math.pi * step / (steps * epochs)))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(percept.network.parameters(), 5.0)
        optimizer.step()
        progress("steps of this model", step + 1, steps * epochs)
    percept.to("cpu")
    calibrate(percept, ordinary.take(np.flatnonzero(held)))
    load_into(percept, expand(compact(percept)), SHIPPED)
    return percept.eval().requires_grad_(False)


def _loss(percept: Percept, scenes: Scenes, key: tuple[int, ...]) -> torch.Tensor:
    """The loss of a batch, half of it mirrored."""
    rng = np.random.default_rng(key)
    return batch_loss(percept, mirror(scenes, rng), rng).total
