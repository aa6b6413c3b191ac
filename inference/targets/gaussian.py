"""A target as one statistic of the probabilities and two arrays: its observed value, and the width.

u | x ~ Normal(statistic(f(x)), width^2), u* observed: Booth et al., "Bayes-TrEx", AAAI 2021, equations 1-10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from trex.foundation.errors import InputError, unknown
from trex.inference.targets.arrays import Array, exp, largest, numbers
from trex.inference.types import Floats

WIDTH = 0.05  # the paper's, in every experiment
HIT_WIDTHS = 2.0  # a hit lies within two widths of the observed value, unless a target defines otherwise
ROUNDING = 1e-12
LOG_SQRT_TAU = 0.5 * math.log(2.0 * math.pi)


class Statistic(Protocol):
    """A pure function of answer probabilities, with its description.

    Called with probabilities (..., K), it returns m numbers for each, (..., m). It gets numpy arrays, and torch tensors
    from kernel "nuts".

    Examples
    --------
    >>> class Lead:
    ...     def __call__(self, probs):
    ...         return probs[..., :1] - probs[..., 1:2]
    ...
    ...     def confidence(self, probs):
    ...         return float(probs[0])
    ...
    ...     def describe(self):
    ...         return "P(yes) - P(no)"
    """

    def __call__(self, probs: Array) -> Array:
        """(..., K) -> (..., m), of arrays and of tensors; differentiable almost everywhere."""
        ...

    def confidence(self, probs: Floats) -> float:
        """The one number in [0, 1] on display.

        Parameters
        ----------
        probs : float array (K,)
            The model's probabilities. Example: np.array([0.9, 0.1]).
        """
        ...

    def describe(self) -> str:
        """What is observed, and what `confidence` means."""
        ...


@runtime_checkable
class Capped(Protocol):
    """A statistic that is the same for everything in the level set."""

    def excess(self, probs: Floats) -> float:
        """(K,) -> how far beyond the cap the value is that was capped; negative outside of the level set."""
        ...


@dataclass(frozen=True)
class GaussianTarget:
    """A level set: a statistic of the probabilities that is near its observed values.

    Parameters
    ----------
    statistic : Statistic
        From probabilities (..., K) to m numbers (..., m).
    observed : tuple of m float
        The values wanted of it.
    width : tuple of m float
        Standard deviations of the allowed distance from them, above 0. Smaller ones are harder to reach.
    tolerance : tuple of m float
        A hit is within these distances of `observed`, 0 or more.

    Examples
    --------
    Two numbers, of which the second may vary more::

        GaussianTarget(statistic, observed=(0.5, 0.0), width=(0.05, 0.2), tolerance=(0.1, 0.4))
    """

    statistic: Statistic
    observed: tuple[float, ...]
    width: tuple[float, ...]
    tolerance: tuple[float, ...]

    def __post_init__(self) -> None:
        if not len(self.observed) == len(self.width) == len(self.tolerance):
            raise InputError(
                f"observed {self.observed}, width {self.width}, tolerance {self.tolerance} differ in length"
            )
        if not all(w > 0.0 and math.isfinite(w) for w in self.width):
            raise InputError(f"width {self.width} must be positive and finite; the paper's is {WIDTH}")
        if not all(t >= 0.0 for t in self.tolerance):
            raise InputError(f"tolerance {self.tolerance} must not be negative")

    @property
    def log_peak(self) -> float:
        """log_weight if the statistic equals the observed value."""
        return -sum(math.log(w) + LOG_SQRT_TAU for w in self.width)

    def log_weight(self, log_probs: Floats) -> float:
        """The log of Normal(observed; statistic(exp(log_probs)), width).

        Parameters
        ----------
        log_probs : float array (K,)
            Natural logs of the probabilities; -inf is allowed. Example: np.log([0.9, 0.1]).
        """
        return float(self.log_weights(log_probs))

    def log_weights(self, log_probs: Array) -> Array:
        """`log_weight` for many, (...); samplers with gradients apply it to tensors.

        Parameters
        ----------
        log_probs : array or torch tensor (..., K)
            Natural logs of the probabilities. Example: np.log([[0.9, 0.1], [0.5, 0.5]]).
        """
        gaps = self.gaps_in_widths(exp(log_probs))
        total: Array = (gaps * gaps).sum(-1)
        return self.log_peak - 0.5 * total

    def gaps_in_widths(self, probs: Array) -> Array:
        """(..., K) -> (..., m): by how many widths each part of the statistic lies below its observed value."""
        values = self.statistic(probs)
        return (numbers(self.observed, values) - values) / numbers(self.width, values)

    def simulate(self, rng: np.random.Generator, log_probs: Floats) -> GaussianTarget:
        """This target with `observed` drawn for these probabilities."""
        drawn = rng.normal(self.statistic(np.exp(log_probs)), self.width)
        return replace(self, observed=tuple(float(u) for u in drawn))

    def is_hit(self, log_probs: Floats) -> bool:
        """Whether each part of the statistic is within its tolerance.

        Parameters
        ----------
        log_probs : float array (K,)
            Natural logs of the probabilities. Example: np.log([0.9, 0.1]).
        """
        return all(
            abs(gap) <= t + ROUNDING for gap, t in zip(self._gaps(log_probs), self.tolerance, strict=True)
        )

    def margin(self, log_probs: Floats) -> float:
        """How far inside the level set: 1 at the observed value, 0 at the edge, negative outside.

        In tolerances; of a capped statistic, which is the same in all of the set, in two widths beyond the cap.
        """
        if isinstance(self.statistic, Capped):
            return (self.statistic.excess(np.exp(log_probs)) + ROUNDING) / (HIT_WIDTHS * self.width[0])
        parts = zip(self._gaps(log_probs), self.tolerance, strict=True)
        return min(1.0 - abs(gap) / (t + ROUNDING) for gap, t in parts)

    def confidence(self, log_probs: Floats) -> float:
        """The statistic's number for display."""
        return self.statistic.confidence(np.exp(log_probs))

    def describe(self) -> str:
        """The target in words: "P(1) observed at 1, width 0.05; a hit is within 0.1"."""
        return (
            f"{self.statistic.describe()}, observed at {_list(self.observed)}, width {_list(self.width)}; "
            f"a hit is within {_list(self.tolerance)}"
        )

    @property
    def hit_words(self) -> str:
        """What a hit has, in words: "P(1) within 0.1 of 1", "P(1) of at least 0.9"."""
        said, _, _ = self.statistic.describe().partition(", as ")
        if isinstance(self.statistic, Capped):
            return said
        return f"{said} within {_list(self.tolerance)} of {_list(self.observed)}"

    def _gaps(self, log_probs: Floats) -> list[float]:
        values = self.statistic(np.exp(log_probs)).tolist()
        return [u - value for u, value in zip(self.observed, values, strict=True)]


def gaussian_target(
    statistic: Statistic, observed: tuple[float, ...], width: float, tolerance: float | None = None
) -> GaussianTarget:
    """A target with one width and one tolerance for all parts of its statistic.

    Parameters
    ----------
    statistic : Statistic
        From probabilities (..., K) to m numbers (..., m).
    observed : tuple of m float
        The values wanted of it.
    width : float
        Standard deviation of the allowed distance from each of them, above 0. A kind passes on `request.width`.
    tolerance : float, default None
        A hit is within this distance of each value. None for two widths, which hold 95% of a Gaussian. Example:
        tolerance=0.1.

    Examples
    --------
    >>> import numpy as np
    >>> from trex.inference.targets.gaussian import gaussian_target
    >>> class Lead:
    ...     def __call__(self, probs):
    ...         return probs[..., :1] - probs[..., 1:2]
    ...
    ...     def confidence(self, probs):
    ...         return float(probs[0])
    ...
    ...     def describe(self):
    ...         return "P(yes) - P(no)"
    >>> target = gaussian_target(Lead(), observed=(0.5,), width=0.05)
    >>> target.is_hit(np.log([0.7, 0.3]))
    True
    """
    each = HIT_WIDTHS * width if tolerance is None else tolerance
    return GaussianTarget(statistic, observed, (width,) * len(observed), (each,) * len(observed))


def label_index(labels: tuple[str, ...], answer: str) -> int:
    """The index of the answer among the labels; for any other answer, InputError names the nearest label.

    Parameters
    ----------
    labels : tuple of str
        The model's answers, in the order of its probabilities.
    answer : str
        One of them.

    Examples
    --------
    >>> from trex.inference.targets.gaussian import label_index
    >>> label_index(("no", "yes"), "yes")
    1
    """
    if answer not in labels:
        raise unknown("answer", answer, labels)
    return labels.index(answer)


def label_indices(labels: tuple[str, ...], answers: tuple[str, ...]) -> tuple[int, ...]:
    """The indices of several answers, each named once."""
    if len(set(answers)) != len(answers):
        raise InputError(f"the answers {', '.join(answers)} are not distinct; name each once")
    return tuple(label_index(labels, answer) for answer in answers)


def largest_other(probs: Array, named: tuple[int, ...]) -> Array:
    """The largest probability among the labels that are not named, (...); 0 if all are.

    Parameters
    ----------
    probs : array or torch tensor (..., K)
        The model's probabilities.
    named : tuple of int
        Indices of the labels to leave out, 0 to K - 1.

    Examples
    --------
    >>> import numpy as np
    >>> from trex.inference.targets.gaussian import largest_other
    >>> float(largest_other(np.array([0.6, 0.3, 0.1]), (0,)))
    0.3
    """
    others = [k for k in range(probs.shape[-1]) if k not in named]
    return largest(probs[..., others]) if others else 0.0 * probs[..., 0]


def _list(values: tuple[float, ...]) -> str:
    distinct = values if len(set(values)) > 1 else values[:1]
    return ", ".join(f"{value:.6g}" for value in distinct)
