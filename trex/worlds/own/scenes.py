"""CLEVR's scenes in a world of the user's own: narrowed by predicates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trex.foundation.errors import InputError
from trex.query.schema import Query
from trex.scenes.prior import Condition, ScenePrior
from trex.worlds.shipped.clevr import ClevrWorld
from trex.worlds.world import Plan

TRIED, LEAST = 1000, 10  # scenes of the prior, and how many of them must meet the conditions: 1%


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
