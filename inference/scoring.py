"""From latents to answer probabilities: one render batch, then the classifier, with both contracts checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import ModelError, RenderError
from trex.inference.types import Classifier, Floats, Picture, Pixels, Renderer, Z

ROUNDING = 0.01  # of a sum of probabilities that were computed with 16 bits


class Scored(NamedTuple):
    """A picture and the classifier's answer: log_probs is (K,), natural log, of the mean over all noise draws."""

    log_probs: Floats
    picture: Picture


@dataclass(frozen=True)
class Scorer(Generic[Z]):
    """A renderer and a classifier in one.

    The classifier receives `batch` pictures at once. The default 1 makes each score a pure function of its picture:
    the last bits of a matrix product depend on the batch size, and with them the draws of a resumed run.

    With `draws`, a latent's answer is the mean of the probabilities over its noise draws; the picture is that of the
    first.
    """

    renderer: Renderer[Z]
    classifier: Classifier
    batch: int = 1
    draws: Callable[[Z], Sequence[Z]] | None = None

    def score(self, zs: Sequence[Z]) -> list[Scored]:
        """Render all zs in one call and score them in order; RenderError or ModelError if a part misbehaves."""
        return self.score_rendered(zs, self.render(zs))

    def render(self, zs: Sequence[Z]) -> list[Picture]:
        """The pictures by which zs are scored, those of a latent's noise draws next to each other."""
        draws = [draw for z in zs for draw in self._draws_of(z)]
        pictures = list(self.renderer.render(draws)) if draws else []
        if len(pictures) != len(draws):
            raise RenderError(
                f"the renderer gave {len(pictures)} pictures for {len(draws)} latents; it must give one each"
            )
        return pictures

    def score_rendered(self, zs: Sequence[Z], pictures: Sequence[Picture]) -> list[Scored]:
        """The scores of zs from what `render` gave for them."""
        scored = iter(self._score(pictures))
        return [_mean([next(scored) for _ in self._draws_of(z)]) for z in zs]

    def _draws_of(self, z: Z) -> Sequence[Z]:
        return (z,) if self.draws is None else self.draws(z)

    def _score(self, pictures: Sequence[Picture]) -> list[Scored]:
        if not pictures:
            return []
        parts = (pictures[i : i + self.batch] for i in range(0, len(pictures), self.batch))
        log_probs = np.concatenate([self._classify(part) for part in parts])  # (len(zs), K)
        return [Scored(row, picture) for row, picture in zip(log_probs, pictures, strict=True)]

    def _classify(self, pictures: Sequence[Picture]) -> Floats:
        log_probs = np.asarray(self.classifier.log_probs(images(pictures)), dtype=np.float64)
        check_log_probs(log_probs, (len(pictures), len(self.classifier.labels)))
        return log_probs


def _mean(scored: Sequence[Scored]) -> Scored:
    """The log of the mean probabilities, and the first picture."""
    if len(scored) == 1:
        return scored[0]
    return Scored(log_mean([item.log_probs for item in scored]), scored[0].picture)


def log_mean(log_probs: Sequence[Floats]) -> Floats:
    """r rows (K,) -> (K,): the log of the mean of the probabilities."""
    rows = np.stack(list(log_probs))  # (r, K)
    mean: Floats = np.logaddexp.reduce(rows, axis=0) - np.log(len(rows))
    return mean


def images(pictures: Sequence[Picture]) -> Pixels:
    """(B, H, W, C) float32 in [0, 1] of pictures of one size; RenderError for anything else."""
    arrays = [picture.pixels for picture in pictures]
    shape, kind = arrays[0].shape, arrays[0].dtype
    for array in arrays:
        if array.dtype not in (np.uint8, np.float32) or array.ndim != 3 or array.shape[2] not in (1, 3):
            raise RenderError(
                f"a picture is {array.dtype} {array.shape}; it must be (H, W, 3) or (H, W, 1), uint8 or float32"
            )
        if (array.shape, array.dtype) != (shape, kind):
            raise RenderError(
                f"pictures of one batch differ: {kind} {shape} and {array.dtype} {array.shape}; use one preset"
            )
    stack = np.stack(arrays)
    return _checked_floats(stack) if stack.dtype == np.float32 else stack.astype(np.float32) / np.float32(255)


def _checked_floats(stack: NDArray[np.generic]) -> Pixels:
    pixels = stack.astype(np.float32, copy=False)
    if pixels.size and not (float(pixels.min()) >= 0.0 and float(pixels.max()) <= 1.0):  # NaN fails
        raise RenderError(
            f"float pixels reach from {pixels.min():g} to {pixels.max():g}; they must lie in [0, 1]"
        )
    return pixels


def check_log_probs(log_probs: Floats, shape: tuple[int, int]) -> None:
    """ModelError unless these are natural logs of probabilities, of this shape (B, K), each row summing to 1."""
    if log_probs.shape != shape:
        raise ModelError(
            f"the classifier gave log_probs of shape {log_probs.shape}; expected (pictures, labels) = {shape}"
        )
    total = np.exp(log_probs).sum(axis=1)
    if not np.allclose(total, 1.0, atol=ROUNDING):  # NaN is not close to anything
        raise ModelError(
            f"the classifier's probabilities sum to {total}, not 1; give natural logs (log-softmax)"
        )
