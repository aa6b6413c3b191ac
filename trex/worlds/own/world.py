"""A world from plain functions: `trex.World`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from trex.foundation.errors import InputError
from trex.foundation.extensions import give, session_name
from trex.inference.types import Floats, Prior
from trex.mnist_models.latent import StandardNormal
from trex.query.schema import Query
from trex.render.drawing import SceneDrawing
from trex.scenes.prior import Condition, ScenePrior
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR as CLEVR_WORDS
from trex.worlds.latents import Latent
from trex.worlds.own.prior import OwnPrior, drawn
from trex.worlds.own.values import Spec, specs_of
from trex.worlds.own.vectors import Functions, Latents, vector_world
from trex.worlds.registry import CLEVR
from trex.worlds.shipped.clevr import ClevrWorld
from trex.worlds.world import Plan

if TYPE_CHECKING:
    from trex.worlds.world import World as AnyWorld

TRIED, LEAST = 1000, 10  # scenes of the prior, and how many of them must meet the conditions: 1%
MOST_DIMENSIONS = 10_000  # of a latent, which every draw in a run folder holds
QUESTION = "What does the picture show?"


@dataclass(frozen=True, kw_only=True)
class OwnScenes(ClevrWorld):
    """CLEVR's scenes that meet conditions."""

    conditions: tuple[Condition, ...] = ()

    def plan(self, query: Query, query_dir: Path) -> Plan:
        """As of CLEVR's scenes, with the conditions in the prior; InputError if too few scenes meet them."""
        plan = super().plan(query, query_dir)
        prior = replace(plan.scenes, conditions=self.conditions)
        check_conditions(prior)
        words = "; ".join([plan.outline.world, *(each.words for each in self.conditions)])
        return replace(plan, prior=prior, outline=plan.outline._replace(world=words))

    def scope(self, query: Query) -> str:
        """CLEVR's scenes, and the conditions."""
        return ", ".join([super().scope(query), *(each.words for each in self.conditions)])


def check_conditions(prior: ScenePrior) -> None:
    """Raise InputError if fewer than LEAST of TRIED scenes that are drawn without the conditions meet them."""
    if not prior.conditions:
        return
    free, rng, met = replace(prior, conditions=()), np.random.default_rng(0), 0
    for _ in range(TRIED):
        met += prior.meets(free.sample(rng))
        if met == LEAST:
            return
    words = " and ".join(each.words for each in prior.conditions)
    raise InputError(
        f"{met} of {TRIED:,} scenes of the prior are {words}; at least {LEAST} must be, as the others are drawn and "
        "rejected: widen the condition, or change [scene]"
    )


@dataclass(frozen=True)
class World:
    """A world of pictures from plain functions, which `trex.find` searches for a model's mistakes.

    The functions get what the prior draws: a dict of named values, or a float array.

    Parameters
    ----------
    prior : dict, int, object, or ScenePrior
        A dict of named values: `(low, high)` for a number, a list for equally likely entries. An int d for N(0, I) in d
        dimensions. An object with `sample(rng)` and `log_density(z)`. A `ScenePrior` for CLEVR's scenes, which need no
        other argument.
    render : callable, default Blender's rendering of a `ScenePrior`
        From what the prior draws to a picture (H, W), (H, W, 1) or (H, W, 3): bytes, or floats from 0 to 1. Of a
        `ScenePrior`, from a Scene to pixels, or to pixels and a mask (0 background, i + 1 object i).
    answer : callable, default None
        The true answer, so that hits are judged and `wrong=True` can be asked for; None where it is unknown.
    edits : callable, default changes of each named value
        From what the prior draws to a dict: the name of each change and the changed values. `run.explain()` tries them.
        Example: edits=lambda v: {"lighter": v | {"gray": 1.0}}.
    describe : callable, default the named values
        Words, or a dict of facts, for readers. Example: describe=lambda v: f"gray {v['gray']:.2f}".
    answers : sequence of str, default the model's `labels`
        The model's answers, in the order of its probabilities.
    question : str, default "What does the picture show?"
        The question that the model answers. Example: question="Which side is it on?".
    name : str, default the name of `render`
        What runs call the world. Example: name="sides".

    Examples
    --------
    >>> import numpy as np, trex
    >>> world = trex.World(
    ...     prior={"gray": (0.0, 1.0), "side": ["left", "right"]},
    ...     render=lambda v: np.full((8, 8, 3), v["gray"]),
    ...     answer=lambda v: v["side"],
    ...     answers=["left", "right"],
    ... )
    """

    prior: Mapping[str, object] | int | Prior[Floats] | ScenePrior
    render: Callable[[Latents], object] | Callable[[Scene], object] | None = None
    answer: Callable[[Latents], str] | None = None
    edits: Callable[[Latents], Mapping[str, Latents]] | None = None
    describe: Callable[[Latents], object] | None = None
    answers: Sequence[str] = ()
    question: str = QUESTION
    name: str = ""

    def __post_init__(self) -> None:
        for name in ("render", "answer", "edits", "describe"):
            function = getattr(self, name)
            if function is not None and not callable(function):
                raise InputError(f"trex.World: {name} is of type {type(function).__name__}; give a function")
        if isinstance(self.answers, str):
            raise InputError(
                f"trex.World: answers = {self.answers!r} is one word; give a list of all answers"
            )
        if isinstance(self.prior, ScenePrior):
            self._check_scenes(self.prior)
        else:
            if self.render is None:
                raise InputError("trex.World needs render, a function that draws what the prior gives")
            self._prior()

    def __call__(self, name: str) -> AnyWorld[Latent]:
        """The world as a search has it, under this name: what "package.module:world" in a query file calls."""
        if isinstance(self.prior, ScenePrior):
            return OwnScenes(name, conditions=self.prior.conditions)
        functions = Functions(self.render, self.answer, self.edits, self.describe, self._specs)  # type: ignore[arg-type]
        return vector_world(name, self.question, tuple(self.answers), self._prior(), functions)

    def keys(self) -> dict[str, object]:
        """The keys of a query that name it, and those that follow from a prior of scenes."""
        if not isinstance(self.prior, ScenePrior):
            return {"generator.name": self._name}
        found: dict[str, object] = {"scene.objects": self.prior.n_objects}
        found["generator.name"] = self._name if self.prior.conditions else CLEVR
        if self.render is not None:
            found["render.preset"] = give(SceneDrawing(session_name(self.render), self.render))  # type: ignore[arg-type]
        return found

    @property
    def _name(self) -> str:
        if self.name:
            return f"live:{self.name}"
        scenes = self.prior.conditions if isinstance(self.prior, ScenePrior) else ()
        return session_name(scenes[0].predicate if scenes else self.render)

    @property
    def _specs(self) -> tuple[Spec, ...]:
        return specs_of(self.prior) if isinstance(self.prior, Mapping) else ()

    def _prior(self) -> Prior[Floats]:
        prior = self.prior
        if isinstance(prior, Mapping):
            return StandardNormal(len(specs_of(prior)))
        if isinstance(prior, int | np.integer) and not isinstance(prior, bool):
            if not 1 <= prior <= MOST_DIMENSIONS:
                raise InputError(
                    f"trex.World: prior = {prior}; give a number of dimensions from 1 to {MOST_DIMENSIONS:,}"
                )
            return StandardNormal(int(prior))
        if not (hasattr(prior, "sample") and hasattr(prior, "log_density")):
            raise InputError(
                f"trex.World: prior is of type {type(prior).__name__}; give a dict of ranges and lists, a number of "
                "dimensions, or an object with sample(rng) and log_density(z)"
            )
        if type(prior) is StandardNormal:
            return prior
        own = cast("Prior[Floats]", prior)
        return OwnPrior(own, drawn(own, np.random.default_rng(0)).shape)

    def _check_scenes(self, prior: ScenePrior) -> None:
        given = [name for name in ("answer", "edits", "describe", "answers") if getattr(self, name)]
        if given:
            raise InputError(
                f"trex.World: {' and '.join(given)} belong to a prior of your own; scenes of CLEVR have truths, edits "
                "and words"
            )
        if prior.vocabulary != CLEVR_WORDS or prior.wrong is not None:
            raise InputError("trex.World: name revoked and introduced shapes, and wrong, to trex.find")
