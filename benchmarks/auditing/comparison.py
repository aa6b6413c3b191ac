"""Does an audit find planted faults that random testing and a decision tree on the same pictures do not?

    python -m benchmarks.auditing.comparison --scenes 320 --fresh 300

Each model has one planted fault and otherwise sees every scene as it is; every method is given the same pictures,
questions and answers. One JSON line for a model and method: the sentences that it makes; for the best of them, on
fresh scenes that no method has seen, the share of scenes with its conditions in which the fault shows (precision),
and the share of the scenes in which the fault shows that it covers (recall). A fault counts as found with at least
.8 and .5; "together" has both shares of the scenes that any of its sentences covers. Random testing gives failing
scenes, and no sentence.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.auditing.trees import Bools, Slice, slices
from tests.trex.auditing.in_memory import Swept, families_of, judged, swept
from tests.trex.auditing.planted_models import (
    CAP,
    View,
    as_it_is,
    blue_beside_green_is_swapped,
    hidden_metal_cylinders_are_cubes,
    left_is_right_under_a_low_camera,
    small_things_at_the_back_are_missed,
)
from trex.auditing.examine import Asker
from trex.families.family import Family
from trex.scenes.graph import Facts, facts_of
from trex.scenes.prior import ScenePrior
from trex.scenes.vocabulary import CLEVR

PRECISE, COMPLETE = 0.8, 0.5
Holds = Callable[[Facts, int, Asker], bool]  # a sentence, of a fresh scene and its number


class Fault(NamedTuple):
    """A planted fault; counts above `cap` become `cap`, and the values of `revoked` occur in no scene."""

    name: str
    view: View
    cap: int = 10
    revoked: str = ""


class Sentence(NamedTuple):
    """What a method says: in words, and whether it speaks of a scene."""

    words: str
    holds: Holds


FAULTS = (
    Fault("hidden metal cylinders", hidden_metal_cylinders_are_cubes, revoked="sphere"),
    Fault("blue beside green", blue_beside_green_is_swapped, revoked="gray brown purple cyan yellow"),
    Fault("small at the back", small_things_at_the_back_are_missed),
    Fault("left is right", left_is_right_under_a_low_camera),
    Fault("counts above 2", as_it_is, CAP),
    Fault("none", as_it_is),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each fault and method."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenes", type=int, default=320)
    parser.add_argument("--fresh", type=int, default=300)
    parser.add_argument("--fault", action="append", choices=[fault.name for fault in FAULTS])
    chosen = parser.parse_args(arguments)
    for fault in FAULTS:
        if not chosen.fault or fault.name in chosen.fault:
            for row in compared(fault, chosen.scenes, chosen.fresh):
                print(json.dumps(row), flush=True)


def compared(fault: Fault, n: int, fresh: int) -> list[dict[str, object]]:
    """The figures of each method for one fault."""
    item = swept(fault.view, fault.cap, n, fault.revoked)
    scenes = fresh_scenes(fault, fresh)
    active = np.array([shows(fault, facts, number, item.asker) for number, facts in scenes], dtype=np.bool_)
    failing = sum(bool(row.mistakes) for _, row in (*item.training, *item.held_out))
    methods = {"audit": audit_sentences(item), "tree": tree_sentences(item), "random testing": []}
    return [
        {"fault": fault.name, "method": name, "scenes": n, "failing_scenes": failing}
        | figures(method, scenes, active, item.asker)
        for name, method in methods.items()
    ]


def audit_sentences(item: Swept) -> list[Sentence]:
    """The confirmed families."""
    with tempfile.TemporaryDirectory() as folder:
        found, _ = judged(Path(folder), item, families_of(item), item.held_out, {})

    def holds(family: Family) -> Holds:
        def any_unit(facts: Facts, number: int, asker: Asker) -> bool:
            request = asker.asked(facts.scene, number) if family.symptom.level == "question" else []
            return bool(family.holds(facts, request).any())

        return any_unit

    return [Sentence(each.words, holds(each.family)) for each in found if each.is_confirmed]


def tree_sentences(item: Swept) -> list[Sentence]:
    """The leaves that other scenes bear out."""
    return [Sentence(f"leaf {leaf.leaf}", partial(_in_leaf, leaf)) for leaf in slices(item)]


def _in_leaf(leaf: Slice, facts: Facts, number: int, asker: Asker) -> bool:
    return bool(leaf.holds(facts, number, asker).any())


def figures(
    sentences: Sequence[Sentence], scenes: Sequence[tuple[int, Facts]], active: Bools, asker: Asker
) -> dict[str, object]:
    """Precision and recall of each sentence; the best has the largest product."""
    rows, covered = [], np.zeros(len(scenes), dtype=np.bool_)
    for sentence in sentences:
        holds = np.array([sentence.holds(facts, number, asker) for number, facts in scenes], dtype=np.bool_)
        both, covered = int((holds & active).sum()), covered | holds
        rows.append((both / max(1, int(holds.sum())), both / max(1, int(active.sum())), sentence.words))
    best = max(rows, key=lambda row: row[0] * row[1], default=(0.0, 0.0, ""))
    return {
        "sentences": len(rows),
        "precision": round(best[0], 3),
        "recall": round(best[1], 3),
        "together": [
            round(int((covered & active).sum()) / max(1, int(array.sum())), 3) for array in (covered, active)
        ],
        "mean_precision": round(float(np.mean([row[0] for row in rows])), 3) if rows else None,
        "found": best[0] >= PRECISE and best[1] >= COMPLETE,
        "best": best[2],
    }


def fresh_scenes(fault: Fault, n: int) -> list[tuple[int, Facts]]:
    """Scenes of the fault's world that no sweep has, each with its number."""
    vocabulary = CLEVR
    for value in fault.revoked.split():
        vocabulary = vocabulary.revoke(value)
    prior = ScenePrior(vocabulary, n_objects=(5, 6))
    draws = (prior.sample(np.random.default_rng([9, i])) for i in range(n))
    return [(10**6 + i, facts_of(scene, CLEVR)) for i, scene in enumerate(draws)]


def shows(fault: Fault, facts: Facts, number: int, asker: Asker) -> bool:
    """Whether the fault shows in a scene: the model sees another scene, or a drawn question asks above the cap."""
    if fault.view(facts) != as_it_is(facts):
        return True
    request = asker.asked(facts.scene, number) if fault.cap < 10 else []
    return any(item.truth.isdecimal() and int(item.truth) > fault.cap for item in request)


if __name__ == "__main__":
    main()
