"""Attribute slicing: a decision tree over questions and scenes, whose leaves are held against other scenes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.trex.auditing.in_memory import Row, Swept
from trex.auditing.examine import Asker
from trex.auditing.judging.findings import more_than_elsewhere
from trex.inference.statistics.discoveries import discoveries
from trex.scenes.conditions import (
    object_conditions,
    object_rows,
    question_conditions,
    question_rows,
    scene_conditions,
)
from trex.scenes.graph import Facts
from trex.scenes.vocabulary import CLEVR

LEAST_QUESTIONS = 20  # in a leaf
MAX_LEAVES = 16
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Slice:
    """A leaf: for which of a scene's questions its conditions hold."""

    tree: Any
    leaf: int

    def holds(self, facts: Facts, number: int, asker: Asker) -> Bools:
        """(questions,): those that fall into the leaf."""
        found: Bools = self.tree.apply(features(facts, number, asker)) == self.leaf
        return found


def features(facts: Facts, number: int, asker: Asker) -> Bools:
    """(questions, features): conditions on the question and the scene, and conditions that some object meets."""
    request = asker.asked(facts.scene, number)
    rows = question_rows(facts, request, (*question_conditions(CLEVR), *scene_conditions()))
    some = object_rows(facts, object_conditions(CLEVR)).any(axis=0)
    return np.concatenate([rows, np.broadcast_to(some, (len(rows), some.size))], axis=1)


def slices(swept: Swept, seed: int = 0) -> list[Slice]:
    """The leaves whose questions are mistaken more often than others in scenes that the tree was not made from."""
    from sklearn.tree import DecisionTreeClassifier

    table = np.concatenate([features(facts, row.scene, swept.asker) for facts, row in swept.training])
    wrong = np.concatenate([mistaken(row) for row in swept.training])
    if not wrong.any():
        return []
    tree = DecisionTreeClassifier(
        max_leaf_nodes=MAX_LEAVES, min_samples_leaf=LEAST_QUESTIONS, random_state=seed
    ).fit(table, wrong)
    leaves = [Slice(tree, int(leaf)) for leaf in np.unique(tree.apply(table))]
    p_values = np.array(
        [p_value(inside, swept.held_out) for inside in members(leaves, swept.held_out, swept.asker)]
    )
    return [leaf for leaf, named in zip(leaves, discoveries(p_values), strict=True) if named]


def mistaken(row: Row) -> Bools:
    """(questions,): those answered with a confident mistake."""
    _, examined = row
    wrong = np.zeros(len(examined.answers), dtype=np.bool_)
    wrong[[mistake.at for mistake in examined.mistakes]] = True
    return wrong


def members(leaves: Sequence[Slice], rows: Sequence[Row], asker: Asker) -> list[list[Bools]]:
    """For each leaf of one tree and each scene, (questions,): those that fall into it; questions are drawn once."""
    tables = [features(facts, row.scene, asker) for facts, row in rows]
    return [[leaf.tree.apply(table) == leaf.leaf for table in tables] for leaf in leaves]


def p_value(inside: Sequence[Bools], rows: Sequence[Row]) -> float:
    """As the audit judges its families: shares of the scenes, inside against outside."""
    shares, others = [], []
    for holds, row in zip(inside, rows, strict=True):
        wrong = mistaken(row)
        if holds.any():
            shares.append(float(wrong[holds].mean()))
        if not holds.all():
            others.append((float(wrong[~holds].sum()), float((~holds).sum())))
    return more_than_elsewhere(shares, others)
