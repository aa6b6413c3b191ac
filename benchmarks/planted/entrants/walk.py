"""The random walk of Bayes-TrEx (Booth et al. 2021): Metropolis steps among the scenes in which the target fails.

The first failing scene comes from prior draws. What visited scenes share, beside free prior draws, is a claim: rules
over conditions that some object meets, as an audit's.
"""

from __future__ import annotations

import numpy as np

from benchmarks.planted.claims import Claim, Part
from benchmarks.planted.entrants.entry import Hint, Result
from benchmarks.planted.entrants.looking import Looked, look
from benchmarks.planted.referee import Referee
from benchmarks.planted.world import OF_OBJECT, OF_SCENE, PRIOR, Table, table_of
from trex.families.rules import find_rules
from trex.scenes.conditions import Bools
from trex.scenes.moves.block_moves import JitterObject, Mixture, RedrawNuisances, RedrawObjects, SwapObjects
from trex.scenes.vocabulary import CLEVR

CHAINS = 5
THIN = 5  # of the visited scenes every fifth is described, as neighbors resemble each other
OTHERS = 2000  # prior draws beside them


def walk(referee: Referee, seed: int, hints: tuple[Hint, ...]) -> Result:
    """CHAINS walks of equal budgets."""
    rng, visited = np.random.default_rng(seed), list[Looked]()
    for chain in range(CHAINS):
        end = referee.left - referee.left // (CHAINS - chain)
        visited += _walked(referee, rng, end)[::THIN]
    return Result(_claims(visited, referee), len(visited))


def _walked(referee: Referee, rng: np.random.Generator, end: int) -> list[Looked]:
    """The states of one chain, repeats among them, until only `end` renders are left."""
    moves = Mixture(
        (JitterObject(), RedrawObjects(CLEVR, (1,)), SwapObjects(), RedrawNuisances()), (0.3, 0.35, 0.15, 0.2)
    )
    here, states = None, list[Looked]()
    while referee.left > end:
        if here is None:
            there = look(referee, *referee.draw(1))
            here = there if there.failed else None
            continue
        scene = moves.propose(rng, here.known.scene)
        if np.isfinite(PRIOR.log_density(scene)) and scene != here.known.scene:
            there = look(referee, referee.known(scene, int(rng.integers(1 << 31))))
            here = (
                there if there.failed else here
            )  # the moves are symmetric, and the prior is flat where it is valid
        states.append(here)
    return states


def _claims(visited: list[Looked], referee: Referee) -> tuple[Claim, ...]:
    if not visited:
        return ()
    mine, (_, others) = table_of([each.known for each in visited]), referee.drawn(OTHERS)
    rows = np.concatenate([_some(mine), _some(others)])
    flags = np.arange(len(rows)) < len(visited)
    keys = [("object", each.key) for each in OF_OBJECT] + [("scene", each.key) for each in OF_SCENE]
    found = []
    for rule in find_rules(rows, flags, most_rules=4, least_events=max(5, len(visited) // 10)):
        parts = tuple(
            Part("object" if keys[c][0] == "object" else "scene", ((keys[c][1], True),))
            for c in rule.conditions
        )
        found.append(Claim(parts, " & ".join(keys[c][1] for c in rule.conditions)))
    return tuple(found)


def _some(table: Table) -> Bools:
    """(scenes, conditions): those that some object meets, and those on the scene."""
    some = np.zeros((len(table), table.objects.shape[1]), np.bool_)
    np.logical_or.at(some, table.object_of, table.objects)
    return np.concatenate([some, table.scenes], axis=1)
