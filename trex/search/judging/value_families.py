"""The families of a run in a world of the user's own with named values, from its draws alone."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace

import numpy as np

from trex.families.cases import EACH
from trex.families.family import Family, clear_value
from trex.families.symptom import ANSWERED, MISTAKEN, REACHED, Symptom
from trex.families.values import FoundDraws, PriorDraws, value_families
from trex.inference.statistics.proportion import Proportion, clopper_pearson
from trex.runs.manifest import Manifest
from trex.runs.record import PRIOR
from trex.scenes.conditions import Bools, Condition
from trex.search.hit import Hit
from trex.search.sampling.prior_sample import PriorSample
from trex.worlds.latents import Latent, identity
from trex.worlds.own.conditions import condition_table, value_conditions
from trex.worlds.own.values import Spec
from trex.worlds.own.vectors import OwnVectors


def specs_of_run(manifest: Manifest) -> tuple[Spec, ...]:
    """The named values of a run's world; none in any other world, and in one whose code is not loaded."""
    world: object = manifest.world
    return world.functions.specs if isinstance(world, OwnVectors) else ()


def families_by_value(
    manifest: Manifest,
    hits: Sequence[Hit],
    clusters: Sequence[int],
    origins: Sequence[Hashable],
    sample: PriorSample,
    lost: Collection[Hashable],
) -> list[Family]:
    """The families of distinct hits, with their rates.

    Of each hit: its cluster, and the phase and index of the draw that it is or descends from. A prior draw is a failure
    if the rate counts it as a hit. None of a sample that a cheap look has chosen.
    """
    if not hits or not sample.is_whole:
        return []
    specs = specs_of_run(manifest)
    conditions = value_conditions(specs)

    def table(zs: Sequence[Latent]) -> Bools:
        return condition_table(specs, conditions, [np.asarray(z) for z in zs])

    target = manifest.target
    fails = [target.is_hit(draw.state.log_probs) and identity(draw.z) not in lost for draw in sample.draws]
    place: dict[Hashable, int] = {(PRIOR, draw.index): k for k, draw in enumerate(sample.draws)}
    prior = PriorDraws(table([draw.z for draw in sample.draws]), np.array(fails, dtype=np.bool_))
    found = FoundDraws(
        table([hit.record.z for hit in hits]),
        np.array(clusters, dtype=np.intp),
        np.array([place.get(origin, -1) for origin in origins], dtype=np.intp),
    )
    made, judges = value_families(conditions, prior, found, _symptom(manifest), manifest.world.noun)
    judges[: -sample.how_often.n] = False  # those before them have decided that further ones are drawn
    return [_counted(family, conditions, prior, hits, judges) for family in made]


def _symptom(manifest: Manifest) -> Symptom:
    query = manifest.query
    if query.wrong:
        return MISTAKEN
    return ANSWERED if query.target.declared.is_sure else REACHED


def _counted(
    family: Family,
    conditions: Sequence[Condition],
    prior: PriorDraws,
    hits: Sequence[Hit],
    judges: Bools,
) -> Family:
    """The family with the answer that its hits get, and with the rate of prior draws that fail under its conditions.

    Of the draws `judges` (n,) alone: the others have made the rule. Of two halves, the better one was taken (EACH).
    """
    columns = [conditions.index(each) for each in family.pattern.conditions]
    is_member = (prior.fails & prior.holds[:, columns].all(axis=1))[judges]
    count, n = int(is_member.sum()), len(is_member)
    rate = Proportion(count, n, clopper_pearson(count, n, EACH))
    said = clear_value(hits[k].answer for k in family.members)
    became = () if family.symptom == REACHED else (("", said, family.size),)
    return replace(family, became=became, rate=rate if rate.count else None)
