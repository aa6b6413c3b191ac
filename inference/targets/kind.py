"""What a module of this package declares as `TARGET`: a kind of target by its name in a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from trex.inference.targets.gaussian import GaussianTarget


class NoOptions(BaseModel):
    """The options of a kind that has none: any key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class TargetRequest:
    """What a query says of its target, checked: `labels` are the model's answers, `possible` the question's.

    `probabilities` holds what [target] probabilities says, `options` an instance of the kind's own options.
    """

    labels: tuple[str, ...]
    answers: tuple[str, ...]
    possible: tuple[str, ...]
    width: float
    threshold: float
    share: float
    probabilities: Mapping[str, float] = field(default_factory=dict)
    options: BaseModel = field(default_factory=NoOptions)


class Goal(NamedTuple):
    """What the model is to do, in words ("is torn between"), and the answers to name after them."""

    words: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class TargetKind:
    """One kind of target.

    A query names from `n_answers[0]` to `n_answers[1]` answers. `build` gives the level set, `goal` the words of the
    report. `is_sure`: a hit is sure of one answer, which is right or wrong. `options` are the keys of [target] options.
    """

    name: str
    n_answers: tuple[int, int]
    build: Callable[[TargetRequest], GaussianTarget]
    goal: Callable[[TargetRequest], Goal]
    is_sure: bool = False
    takes_probabilities: bool = False
    options: type[BaseModel] = NoOptions
