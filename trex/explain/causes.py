"""The objects responsible for each explained hit, in a form that hits can share; and results grouped by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trex.explain.explanation import Explanation
from trex.explain.stored import read_explanations
from trex.families.relatives import Responsible, responsible
from trex.runs.folder import RunFolder
from trex.runs.record import Record
from trex.scenes.graph import facts_of, scene_graph
from trex.scenes.scene import ATTRIBUTES
from trex.scenes.vocabulary import Vocabulary
from trex.search.results import Results, read_results

MATTERS = 0.5  # an attribute counts if at least this share of its other values is a flip


def causes(
    explanations: Mapping[str, Explanation], vocabulary: Vocabulary
) -> dict[str, frozenset[Responsible]]:
    """The objects responsible, by the hit's picture.

    Empty where no removal is a flip (of a failure: none makes the model right), and where the control failed.
    """
    return {picture: _cause(explanation, vocabulary) for picture, explanation in explanations.items()}


def explained_results(folder: RunFolder, records: Sequence[Record]) -> Results:
    """The results of a run whose hits are grouped by the objects responsible, as far as they have been explained."""
    explanations = read_explanations(folder)
    found = causes(explanations, folder.manifest.vocabulary) if explanations else {}
    return read_results(folder.manifest, records, found)


def deciding_attributes(explanation: Explanation, index: int) -> tuple[str, ...]:
    """The attributes of an object whose change is a flip, for at least half of their other values.

    All four if none does so, or if no attribute was edited: then nothing tells which of them counts.
    """
    decide = []
    for attribute in ATTRIBUTES:
        flips = [
            effect.is_flip
            for effect in explanation.edits or ()
            if [(edit.index, edit.attribute) for edit in effect.edits] == [(index, attribute)]
        ]
        if flips and sum(flips) >= MATTERS * len(flips):
            decide.append(attribute)
    return tuple(decide) or ATTRIBUTES


def _cause(explanation: Explanation, vocabulary: Vocabulary) -> frozenset[Responsible]:
    if not explanation.blame.is_flip or not explanation.control.is_exact:
        return frozenset()
    graph = scene_graph(facts_of(explanation.scene, vocabulary))
    return frozenset(
        responsible(graph, index, deciding_attributes(explanation, index))
        for index in explanation.blame.parts
    )
