"""A target from a plain function of the answers' probabilities: `trex.Target`."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np

from trex.foundation.errors import InputError
from trex.foundation.extensions import session_name
from trex.foundation.own_code import called, code_hash
from trex.inference.targets.arrays import Array, at_least, at_most
from trex.inference.targets.gaussian import GaussianTarget, gaussian_target
from trex.inference.targets.kind import Goal, TargetKind, TargetRequest
from trex.inference.types import Floats

Score = Callable[[Mapping[str, float]], float]
Side = Literal["at", "at_least", "at_most"]
WORDS: Mapping[Side, str] = {"at": "of", "at_least": "of at least", "at_most": "of at most"}
MOST_ANSWERS = 100


@dataclass(frozen=True)
class Target:
    """A level set of a function of the answers' probabilities.

    Give one of `at`, `at_least` and `at_most`; `at=1` if none is given. Kernel "nuts" cannot differentiate it.

    Parameters
    ----------
    score : callable
        From a mapping of each answer to its probability (0 to 1) to a number.
    at : float, default 1
        A hit has a score within two widths of this; the keyword `width` of `trex.find` is 0.05 by default. Example:
        at=0.5.
    at_least : float, default None
        A hit has at least this score. Example: at_least=0.9.
    at_most : float, default None
        A hit has at most this score.
    name : str, default the function's name
        What reports call the score. Example: name="torn".

    Examples
    --------
    Digits that the model takes for a 4 or a 9, and for neither rather than the other::

        torn = trex.Target(lambda p: abs(p["4"] - p["9"]) + 1 - p["4"] - p["9"], at_most=0.2)
        trex.find(world="mnist-vae", target=torn)
    """

    score: Score
    at: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if not callable(self.score):
            raise InputError(f"a Target is made of a function, not of a {type(self.score).__name__}")
        given = [name for name in WORDS if getattr(self, name) is not None]
        if len(given) > 1:
            raise InputError(f"{' and '.join(given)} do not go together; give one of them")
        level = getattr(self, self.side)
        if level is not None and not (isinstance(level, Real) and math.isfinite(level)):
            raise InputError(f"the score {self.side} {level!r} is impossible; give a finite number")

    @property
    def side(self) -> Side:
        """Which of the three was given; "at" if none."""
        return next((name for name in ("at_least", "at_most") if getattr(self, name) is not None), "at")

    @property
    def level(self) -> float:
        """The number that the score is held against."""
        given = getattr(self, self.side)
        return 1.0 if given is None else float(given)

    @property
    def _session_name(self) -> str:
        """Another for each code, side and level: all lambdas of a notebook are called the same."""
        text = f"{code_hash(self.score)} {self.side} {self.level!r}"
        return f"{session_name(self.score)}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    def kind(self, name: str = "") -> TargetKind:
        """The target under the name that a query holds.

        Parameters
        ----------
        name : str, default "live:", the function's name and a hash
            The name. Example: "targets:torn".
        """
        name, words = name or self._session_name, self.name or f"the score {_short(self.score)}"

        def build(request: TargetRequest) -> GaussianTarget:
            form = Scored if self.side == "at" else Capped
            score = form(self.score, request.labels, self.side, self.level, words)
            return gaussian_target(score, (self.level,), request.width, None if self.side == "at" else 0.0)

        def goal(request: TargetRequest) -> Goal:
            return Goal(f"has {words} {WORDS[self.side]} {self.level:g}", ())

        return TargetKind(name, (0, MOST_ANSWERS), build, goal)


@dataclass(frozen=True)
class Scored:
    """The score of each row of probabilities."""

    score: Score
    labels: tuple[str, ...]
    side: Side
    level: float
    words: str

    def __call__(self, probs: Array) -> Array:
        """(..., K) -> (..., 1)."""
        if not isinstance(probs, np.ndarray):
            raise InputError("kernel 'nuts' cannot differentiate a trex.Target; use another kernel")
        rows = probs.reshape(-1, len(self.labels))
        return np.array([self._value(row) for row in rows], np.float64).reshape(*probs.shape[:-1], 1)

    def _value(self, row: Floats) -> float:
        """(K,) -> the score."""
        with called(f"{self.words}, a function of the probabilities of {', '.join(self.labels)},"):
            value = float(self.score(dict(zip(self.labels, row.tolist(), strict=True))))
        if not math.isfinite(value):
            raise InputError(
                f"{self.words} is {value} for probabilities {row.round(4).tolist()}; return a number"
            )
        return value

    def confidence(self, probs: Floats) -> float:
        """1 at the level and less by the distance from it."""
        return max(0.0, 1.0 - abs(self._value(probs) - self.level))

    def describe(self) -> str:
        """The score in words."""
        return self.words

    @property
    def confidence_words(self) -> str:
        """What `confidence` is."""
        return f"1 minus the distance of {self.words} from {self.level:g}"


@dataclass(frozen=True)
class Capped(Scored):
    """The score up to its level, or down to it: everything beyond is equal."""

    def __call__(self, probs: Array) -> Array:
        """(..., K) -> (..., 1)."""
        found = super().__call__(probs)
        return at_most(found, self.level) if self.side == "at_least" else at_least(found, self.level)

    def excess(self, probs: Floats) -> float:
        """(K,) -> how far the score lies beyond the level."""
        gap = self._value(probs) - self.level
        return gap if self.side == "at_least" else -gap

    def confidence(self, probs: Floats) -> float:
        """The score, or 1 minus it if little is wanted, kept within 0 and 1."""
        value = self._value(probs)
        return min(1.0, max(0.0, value if self.side == "at_least" else 1.0 - value))

    def describe(self) -> str:
        """The score and its level."""
        return f"{self.words} {WORDS[self.side]} {self.level:g}"

    @property
    def confidence_words(self) -> str:
        """What `confidence` is."""
        return self.words if self.side == "at_least" else f"1 minus {self.words}"


def _short(function: object) -> str:
    name: str = getattr(function, "__name__", type(function).__name__)
    return "of the target" if name == "<lambda>" else f"{name!r}"
