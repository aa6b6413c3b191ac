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
    """What a query asks of its target, checked; `build` and `goal` of a kind receive it.

    Parameters
    ----------
    labels : tuple of str
        The model's answers, in the order of its probabilities.
    answers : tuple of str
        The answers that the query names.
    possible : tuple of str
        The answers that the question can have.
    width : float
        The key `width`: a standard deviation, as a probability.
    threshold : float
        The key `threshold`, a probability.
    share : float
        The key `share`, a probability.
    probabilities : mapping of str to float, default {}
        The key `probabilities`: what is wanted of each answer. Example: probabilities={"1": 0.5, "2": 0.5}.
    options : pydantic model, default no options
        The keys of [target] options, as the kind's own `options` class. Example: options=Options(level=0.4).

    Examples
    --------
    Try a `build` of your own on its own:

    >>> from trex.inference.targets.kind import TargetRequest
    >>> yes_no = ("no", "yes")
    >>> request = TargetRequest(yes_no, ("yes",), yes_no, width=0.05, threshold=0.9, share=0.5)
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
    """The wanted behavior of the model in words.

    Parameters
    ----------
    words : str
        What reports say after the model's name.
    answers : tuple of str
        The answers that they name after the words; none if the words say all.

    Examples
    --------
    >>> from trex.inference.targets.kind import Goal
    >>> goal = Goal("is torn between", ("1", "2"))
    """

    words: str
    answers: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What reports say, answers included: "is torn between 1 and 2"."""
        return f"{self.words} {' and '.join(self.answers)}".rstrip()


@dataclass(frozen=True)
class TargetKind:
    """One kind of target, for `trex.find(target=...)` or as `TARGET` of a module.

    Parameters
    ----------
    name : str
        What `[target] kind` says.
    n_answers : pair of int
        Fewest and most answers that a query names; (0, 0) for a target of none.
    build : callable
        From a `TargetRequest` to the level set, a `GaussianTarget`.
    goal : callable
        From a `TargetRequest` to the words for reports, a `Goal`.
    is_sure : bool, default False
        Whether a hit is sure of one answer, which is right or wrong.
    takes_probabilities : bool, default False
        Whether it uses the key `probabilities`, which is refused otherwise.
    takes_threshold : bool, default False
        Whether it uses the key `threshold`, which is refused otherwise.
    takes_share : bool, default False
        Whether it uses the key `share`, which is refused otherwise.
    options : class of a pydantic model, default one without keys
        The keys that [target] options may have. Example: options=Options.

    Examples
    --------
    With the functions and the class of the example in CONTRIBUTING.md::

        TARGET = TargetKind("lead", n_answers=(1, 1), build=build, goal=goal, options=Options)
        trex.find(question="How many cubes are there?", answer="1", target=TARGET)
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
