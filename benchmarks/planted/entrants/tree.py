"""Random scenes and a decision tree: its leaves are claims if the other half of the scenes bears them out."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.planted.claims import Claim, Part, Subject
from benchmarks.planted.entrants.entry import Hint, Result
from benchmarks.planted.entrants.looking import Looked, look
from benchmarks.planted.referee import Referee
from benchmarks.planted.world import COLUMNS, Known, table_of
from trex.auditing.judging.findings import more_than_elsewhere
from trex.inference.statistics.discoveries import discoveries
from trex.scenes.conditions import Bools

LEAST, MAX_LEAVES = 20, 16
FEATURES: tuple[tuple[Subject, str], ...] = (
    *(("question", key) for key in COLUMNS["question"]),
    *(("scene", key) for key in COLUMNS["scene"]),
    *(("object", key) for key in COLUMNS["object"]),
)


def random_tree(referee: Referee, seed: int, hints: tuple[Hint, ...]) -> Result:
    """A tree over questions (conditions on them, on the scene, and those that some object meets), one over scenes."""
    looked = [look(referee, known) for known in referee.draw(referee.left)]
    return Result(claims_of(looked, seed), sum(each.failed for each in looked))


def claims_of(looked: list[Looked], seed: int) -> tuple[Claim, ...]:
    """The leaves of both trees that the second half of the scenes bears out."""
    half = len(looked) // 2
    return (*_claims(looked, half, seed, by_question=True), *_claims(looked, half, seed, by_question=False))


def _claims(looked: list[Looked], half: int, seed: int, *, by_question: bool) -> list[Claim]:
    from sklearn.tree import DecisionTreeClassifier

    rows, wrong, scene_of = _rows(looked, by_question=by_question)
    first = scene_of < half
    if not wrong[first].any():
        return []
    tree = DecisionTreeClassifier(
        max_leaf_nodes=MAX_LEAVES, min_samples_leaf=LEAST if by_question else LEAST // 4, random_state=seed
    ).fit(rows[first], wrong[first])
    at = tree.apply(rows)
    leaves = np.unique(at[first])
    p_values = np.array([_p_value(at[~first] == leaf, wrong[~first], scene_of[~first]) for leaf in leaves])
    named = discoveries(p_values)
    paths = _paths(tree.tree_)
    shift = 0 if by_question else len(COLUMNS["question"])
    return [_claim(paths[int(leaf)], shift) for leaf, kept in zip(leaves, named, strict=True) if kept]


def _rows(
    looked: list[Looked], *, by_question: bool
) -> tuple[Bools, Bools, np.ndarray[Any, np.dtype[np.int64]]]:
    """Features of each question or scene, whether it was wrong, and its scene."""
    known: list[Known] = [each.known for each in looked]
    table = table_of(known)
    some = np.zeros((len(table), table.objects.shape[1]), np.bool_)
    np.logical_or.at(some, table.object_of, table.objects)
    around = np.concatenate([table.scenes, some], axis=1)
    if not by_question:
        return around, np.array([bool(each.off) for each in looked]), np.arange(len(looked))
    wrong = np.array([flag for each in looked for flag in each.wrong], dtype=np.bool_)
    return np.concatenate([table.questions, around[table.question_of]], axis=1), wrong, table.question_of


def _p_value(inside: Bools, wrong: Bools, scene_of: np.ndarray[Any, np.dtype[np.int64]]) -> float:
    """As an audit judges its families: shares of the scenes, inside against outside, each scene alike."""
    shares, others = [], []
    starts = np.flatnonzero(np.diff(scene_of, prepend=-1))
    for holds, failed in zip(np.split(inside, starts[1:]), np.split(wrong, starts[1:]), strict=True):
        if holds.any():
            shares.append(float(failed[holds].mean()))
        if not holds.all():
            others.append((float(failed[~holds].mean()), 1.0))
    return more_than_elsewhere(shares, others)


def _paths(tree: Any) -> dict[int, list[tuple[int, bool]]]:
    """For each leaf the features on the way to it, and their signs."""
    paths: dict[int, list[tuple[int, bool]]] = {0: []}
    for node in range(tree.node_count):
        if tree.children_left[node] != -1:
            feature = int(tree.feature[node])
            paths[int(tree.children_left[node])] = [*paths[node], (feature, False)]
            paths[int(tree.children_right[node])] = [*paths[node], (feature, True)]
    return paths


def _claim(path: list[tuple[int, bool]], shift: int) -> Claim:
    parts, asked, words = list[Part](), list[tuple[str, bool]](), list[str]()
    for feature, sign in path:
        subject, key = FEATURES[feature + shift]
        words.append(f"{'' if sign else 'not '}{key}")
        if subject == "question":
            asked.append((key, sign))
        elif subject == "scene":
            parts.append(Part("scene", ((key, sign),)))
        else:
            parts.append(Part("object", ((key, True),), sign))
    if asked:
        parts.append(Part("question", tuple(asked)))
    return Claim(tuple(parts), " & ".join(words))
