"""Faults that are trained in: a small network that reads an object's numbers, not its pixels.

It learns from prior scenes what each object is, from the object's true attributes, place and visible share, its
neighbors, the camera and the lights; where a fault holds, it is taught what the fault says. What it does then is its
own: it may learn a fault in part, or carry it further. Its failures are measured, not assumed. No weights are kept in
the repository; they follow from the target's seed.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from benchmarks.planted.faults import MISSED, Target
from benchmarks.planted.world import OBJECTS, Pool
from trex.foundation.files import make_folder, write_atomic
from trex.scenes.graph import Facts, gap
from trex.scenes.scene import ATTRIBUTES
from trex.scenes.validity import BEHIND, RIGHT
from trex.scenes.vocabulary import CLEVR

HEADS: dict[str, tuple[str, ...]] = {
    **{name: CLEVR.available(name) for name in ATTRIBUTES},
    MISSED: ("seen", MISSED),
}
WIDTH, EPOCHS, BATCH, RATE = 128, 12, 512, 2e-3
LEAST_STEPS = 400  # with few scenes, more epochs
TAUGHT = 8.0  # weight of an object whose label was changed
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Network:
    """A trained network, as it reads the objects of a scene."""

    module: nn.Module

    def reads(self, facts: Facts) -> list[dict[str, str]]:
        """For each object what each attribute is read as, and whether the object is seen or missed."""
        return self.read_all([facts])[0]

    def read_all(self, scenes: list[Facts]) -> list[list[dict[str, str]]]:
        """The same for many scenes at once."""
        rows = torch.from_numpy(np.concatenate([features(facts) for facts in scenes]))
        with torch.inference_mode():
            logits = self.module(rows)
        best = {name: part.argmax(dim=1).tolist() for name, part in _parts(logits).items()}
        read = [{name: HEADS[name][best[name][k]] for name in HEADS} for k in range(len(rows))]
        ends = np.cumsum([len(facts.scene.objects) for facts in scenes]).tolist()
        return [read[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def network(target: Target, pool: Pool, folder: Path) -> Network:
    """The network of a target, trained on the pool's scenes, or read from `folder`; a function of both alone."""
    key = hashlib.sha256(repr((target, pool.stream.name, pool.stream.seed, pool.n)).encode()).hexdigest()[:24]
    path, module = folder / f"network-{key}.pt", _module(target.seed)
    if path.is_file():
        module.load_state_dict(torch.load(path, weights_only=True))
        return Network(module.eval())
    _train(module, target, pool)
    make_folder(folder)
    scratch = path.with_suffix(".new")
    torch.save(module.state_dict(), scratch)
    write_atomic(path, scratch.read_bytes())
    scratch.unlink()
    return Network(module.eval())


def features(facts: Facts) -> Floats:
    """(n, k): the numbers that the network reads of each object; other objects come nearest first."""
    items, most = facts.scene.objects, OBJECTS[1] - 1
    own = [_one_hot(item.category) for item in items]
    around = np.array(facts.scene.nuisances.coordinates, np.float32)
    rows = []
    for i, item in enumerate(items):
        place = (
            item.x,
            item.y,
            item.x * BEHIND[0] + item.y * BEHIND[1],
            item.x * RIGHT[0] + item.y * RIGHT[1],
        )
        others = sorted((gap(item, other), k) for k, other in enumerate(items) if k != i)
        parts = [own[i], np.array([*place, facts.shares[i], len(items)], np.float32), around]
        for apart, k in others:
            dx, dy = items[k].x - item.x, items[k].y - item.y
            numbers = (
                1.0,
                apart,
                dx * BEHIND[0] + dy * BEHIND[1],
                dx * RIGHT[0] + dy * RIGHT[1],
                float(k in facts.touching[i]),
                float(facts.hiders[i] == k),
                float(facts.hiders[k] == i),
            )
            parts += [own[k], np.array(numbers, np.float32)]
        parts.append(np.zeros((most - len(others)) * (len(own[i]) + 7), np.float32))
        rows.append(np.concatenate(parts))
    return np.stack(rows)


def _one_hot(category: tuple[str, ...]) -> Floats:
    return np.array(
        [
            value == mine
            for name, mine in zip(ATTRIBUTES, category, strict=True)
            for value in CLEVR.available(name)
        ],
        np.float32,
    )


def _module(seed: int) -> nn.Module:
    torch.set_num_threads(1)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        k = sum(len(values) for name, values in HEADS.items() if name != MISSED)
        inputs = k + 6 + 12 + (OBJECTS[1] - 1) * (k + 7)
        outputs = sum(map(len, HEADS.values()))
        return nn.Sequential(
            nn.Linear(inputs, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, outputs)
        )


def _train(module: nn.Module, target: Target, pool: Pool) -> None:
    torch.use_deterministic_algorithms(True)
    rows = torch.from_numpy(np.concatenate([features(known.facts) for known in pool.known]))
    labels, weights = _labels(target, pool)
    epochs = max(EPOCHS, math.ceil(LEAST_STEPS * BATCH / len(rows)))
    optimizer = torch.optim.Adam(module.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    generator = torch.Generator().manual_seed(target.seed)
    for _ in range(epochs):
        for batch in torch.randperm(len(rows), generator=generator).split(BATCH):
            parts = _parts(module(rows[batch]))
            losses = [
                nn.functional.cross_entropy(parts[name], labels[name][batch], reduction="none")
                for name in HEADS
            ]
            optimizer.zero_grad()
            (torch.stack(losses).sum(dim=0) * weights[batch]).mean().backward()
            optimizer.step()
        schedule.step()


def _labels(target: Target, pool: Pool) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """What each object is taught to be read as, and how much it counts."""
    items = [item for known in pool.known for item in known.scene.objects]
    labels = {name: [HEADS[name].index(getattr(item, name)) for item in items] for name in ATTRIBUTES}
    labels[MISSED] = [0] * len(items)
    weights = np.ones(len(items), np.float32)
    for fault in target.faults:
        for row in np.flatnonzero(fault.region(pool.table, pool.known)):
            labels[fault.shows][row] = HEADS[fault.shows].index(fault.value or MISSED)
            weights[row] = TAUGHT
    return {name: torch.tensor(values) for name, values in labels.items()}, torch.from_numpy(weights)


def _parts(logits: torch.Tensor) -> dict[str, torch.Tensor]:
    return dict(zip(HEADS, logits.split([len(values) for values in HEADS.values()], dim=1), strict=True))
