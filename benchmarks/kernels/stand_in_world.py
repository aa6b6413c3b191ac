"""A stand-in of the fake world without pixels, many scenes at once: five objects, and a model that counts red area.

A scene is (6, 5) in [0, 1): five objects (color, size, x, y, turn), and lights. The dear look counts exactly. The
cheap look's count has an error, half of it smooth in the objects' colors and places (another picture), half of it
jumping from scene to scene (noise of the render), but always the same for the same scene.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
N_OBJECTS = 5
LIKENESS = np.array([0.6, 0.3, 0.12, 0.03, 0.01, 0.0, 0.0])  # of seven colors to the revoked one
SMALL = 0.35  # area of a small object, in large ones
WIDTH, COUNT_WIDTH, ANSWER, SURE = 0.05, 0.25, 2, 0.9  # the target's, the model's; P(2 things) is to be 1
MARGIN = 0.4 / 6  # CLEVR's, as a share of its ground
BLOCK = (0.1, 0.2, 0.05, 0.5, 0.05, 0.1)  # chances of the block kernel's moves, as in trex.scenes.moves
STEP, TURN = 0.05, 0.08  # of jitter, as shares of the ground and of a turn


@dataclass(frozen=True)
class StandIn:
    """`unit` is the area that counts as one thing: the larger, the rarer. `noise` is the cheap error, in things."""

    unit: float
    noise: float = 0.0

    def dear(self, z: Floats) -> tuple[Floats, Bools]:
        """(N, 6, 5) -> log weights relative to the peak, and whether each scene is a hit."""
        return _weigh(self._count(z))

    def cheap(self, z: Floats) -> Floats:
        """(N, 6, 5) -> log weights of the cheap look."""
        return _weigh(self._count(z) + self.noise * _error(z))[0]

    def _count(self, z: Floats) -> Floats:
        o = z[..., :N_OBJECTS, :]
        area = LIKENESS[colors(o)] * np.where(o[..., 1] < 0.5, 1.0, SMALL) * (0.5 + 1.2 * o[..., 3])
        light = 0.8 + 0.4 * z[..., N_OBJECTS, 0]
        seen: Floats = (area * (1.0 + 0.1 * np.cos(2 * np.pi * o[..., 4]))).sum(-1) / self.unit * light
        return seen


def _weigh(count: Floats) -> tuple[Floats, Bools]:
    logits = -0.5 * ((count[..., None] - np.arange(7)) / COUNT_WIDTH) ** 2
    p = 1.0 / np.exp(logits - logits[..., ANSWER, None]).sum(-1)
    return -0.5 * ((1.0 - p) / WIDTH) ** 2, p >= SURE


def _error(z: Floats) -> Floats:
    """About standard normal; a function of the scene."""
    o = z[..., :N_OBJECTS, :]
    bias = np.random.default_rng(0).normal(size=7)
    smooth = (bias[colors(o)] * np.sin(5 * o[..., 2] + 3 * o[..., 3])).sum(-1) / np.sqrt(N_OBJECTS / 2)
    key = z.reshape(*z.shape[:-2], -1) @ (np.arange(30) + 1.37)
    u = np.abs(np.sin(key * 43_758.5453) * 12_543.123) % 1
    v = np.abs(np.sin(u * 7_919.13 + 1.1) * 9_631.7) % 1
    jumping = np.sqrt(-2 * np.log(u + 1e-12)) * np.cos(2 * np.pi * v)
    return np.sqrt(0.5) * (smooth + jumping)  # type: ignore[no-any-return]


def colors(objects: Floats) -> NDArray[np.int64]:
    """The color's number, 0 to 6."""
    return (objects[..., 0] * 7).astype(np.int64)


def is_valid(z: Floats) -> Bools:
    """CLEVR's margin along both directions."""
    far = np.eye(N_OBJECTS)
    gaps = [
        np.abs(p[..., :, None] - p[..., None, :]) + far
        for p in (z[..., :N_OBJECTS, 2], z[..., :N_OBJECTS, 3])
    ]
    apart: Bools = ((gaps[0] >= MARGIN) & (gaps[1] >= MARGIN)).all((-1, -2))
    return apart


def prior(rng: np.random.Generator, n: int) -> Floats:
    """(n, 6, 5), uniform over the valid scenes."""
    found: list[Floats] = []
    while sum(map(len, found)) < n:
        z = rng.random((max(4 * n, 1_000), N_OBJECTS + 1, 5))
        found.append(z[is_valid(z)])
    return np.concatenate(found)[:n]


def block_moves(rng: np.random.Generator, z: Floats) -> Floats:
    """One symmetric proposal for each scene: the block kernel's mixture."""
    n, to = len(z), z.copy()
    rows, kind = np.arange(n), rng.choice(len(BLOCK), size=n, p=BLOCK)
    order = np.argsort(rng.random((n, N_OBJECTS)), axis=1)
    i, j = order[:, 0], order[:, 1]
    jitter = rows[kind == 0]
    steps = rng.normal(0.0, (STEP, STEP, TURN), (jitter.size, 3))
    to[jitter, i[jitter], 2:] = (to[jitter, i[jitter], 2:] + steps) % 1
    recolor = rows[kind == 1]
    to[recolor, i[recolor], rng.integers(2, size=recolor.size)] = rng.random(recolor.size)
    swap = rows[kind == 2]
    to[swap, i[swap], 2:], to[swap, j[swap], 2:] = z[swap, j[swap], 2:], z[swap, i[swap], 2:]
    count = rng.integers(1, 4, size=n)
    for k in range(3):
        redraw = rows[(kind == 3) & (count > k)]
        to[redraw, order[redraw, k]] = rng.random((redraw.size, 5))
    to[kind == 4, N_OBJECTS] = rng.random((int((kind == 4).sum()), 5))
    to[kind == 5] = rng.random((int((kind == 5).sum()), N_OBJECTS + 1, 5))
    return to


def families(hits: Floats) -> int:
    """The number of groups of hits (n, 6, 5); linked if three objects agree in color, size and place (within .5)."""
    o = hits[:, :N_OBJECTS]
    look = colors(o) * 2 + (o[..., 1] < 0.5)
    linked = np.zeros((len(hits), len(hits)), bool)
    for k in range(len(hits)):
        place = np.abs(o[k, None, :, None, 2:4] - o[:, None, :, 2:4]).max(-1) < 0.5 / 6
        same = (look[k][None, :, None] == look[:, None, :]) & place
        linked[k] = same.any(2).sum(1) >= 3
    return int(connected_components(linked)[0])
