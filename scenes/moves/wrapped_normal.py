"""Gaussian steps that wrap around, and their densities."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from trex.scenes.scene import TAU, SceneObject
from trex.scenes.validity import HALF_WIDTH

WRAPS = 3  # images of a wrapped normal on each side; enough for sigma <= period / 2


def wrap(value: float, low: float, period: float) -> float:
    """The value moved by whole periods into [low, low + period)."""
    wrapped = low + (value - low) % period
    return wrapped if wrapped < low + period else low  # rounding can reach the upper end


def log_wrapped_normal(delta: float, sigma: float, period: float) -> float:
    """Log density of a step `delta` on a circle of this period, sigma <= period / 2."""
    steps = [(delta + k * period) / sigma for k in range(-WRAPS, WRAPS + 1)]
    top = max(-0.5 * step * step for step in steps)
    total = sum(math.exp(-0.5 * step * step - top) for step in steps)
    return top + math.log(total) - math.log(sigma * math.sqrt(TAU))


def moved(rng: np.random.Generator, item: SceneObject, sigma_xy: float, sigma_rotation: float) -> SceneObject:
    """The object after a step of these widths (Blender units, radians), wrapped at the ground's edges."""
    dx, dy, turn = rng.normal(0.0, (sigma_xy, sigma_xy, sigma_rotation))
    x, y = (wrap(v, -HALF_WIDTH, 2 * HALF_WIDTH) for v in (item.x + float(dx), item.y + float(dy)))
    return replace(item, x=x, y=y, rotation=wrap(item.rotation + float(turn), 0.0, TAU))


def log_moved(to: SceneObject, given: SceneObject, sigma_xy: float, sigma_rotation: float) -> float:
    """Log density of `moved`; -inf if a coordinate stayed."""
    if to.x == given.x or to.y == given.y or to.rotation == given.rotation:
        return -math.inf
    return (
        log_wrapped_normal(to.x - given.x, sigma_xy, 2 * HALF_WIDTH)
        + log_wrapped_normal(to.y - given.y, sigma_xy, 2 * HALF_WIDTH)
        + log_wrapped_normal(to.rotation - given.rotation, sigma_rotation, TAU)
    )
