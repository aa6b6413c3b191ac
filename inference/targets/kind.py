"""Kinds of targets: what a module of this package declares as `TARGET`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from trex.inference.targets.gaussian import GaussianTarget


class NoOptions(BaseModel):
    """The options of a kind without any: every key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class TargetRequest:
    """A query's target section, checked: `labels` are the model's answers, `possible` the question's.

    `probabilities` holds [target] probabilities, `options` an instance of the kind's own options.
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
    """The wanted behavior of the model in words ("is torn between"), and the answers to name after them."""

    words: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class TargetKind:
    """One kind of target.

    A query names from `n_answers[0]` to `n_answers[1]` answers. `build` returns the level set, `goal` the words for
    reports. `is_sure`: a hit is sure of one answer, which is right or wrong. `takes_...`: it uses that key of
    [target], which is refused otherwise. `options` declares the keys of [target] options.
    """

    name: str
    n_answers: tuple[int, int]
    build: Callable[[TargetRequest], GaussianTarget]
    goal: Callable[[TargetRequest], Goal]
    is_sure: bool = False
    takes_probabilities: bool = False
    takes_threshold: bool = False
    takes_share: bool = False
    options: type[BaseModel] = NoOptions
