"""What a model has misread in a scene, as its answers to many questions tell: the reading that explains them.

Each reading of the scene, such as one object missed and the color of another misread, is judged by the answers: a
mistake that would be right of the scene so read speaks for it, a right answer that would be wrong speaks against it.
Nothing is rendered.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from trex.scenes.graph import Facts
from trex.scenes.misreading import (
    ATTRIBUTE_KINDS,
    MAX_MISREADINGS,
    MAX_TRACED,
    MIRRORS,
    Answered,
    Misreading,
    as_seen,
    category_of,
    phantoms,
)
from trex.scenes.questions.variants import Bools, joined
from trex.scenes.scene import Scene, SceneObject, object_words, with_attribute
from trex.scenes.vocabulary import CLEVR, Vocabulary

LEAST_MARGIN = 2.0  # sure answers by which what a change explains must outweigh what it contradicts
LEAST_LEAD = (
    0.5  # sure answers by which a reading must be ahead of others, or what they do not share is not named
)
FULL_VIEW = 2.0  # sure answers more that it takes to call an object missed that is in full view
TIE = 1e-3  # of objects that the answers do not tell apart, the least visible one is named
BY_CHANCE = 0.05  # bound on the chance that a model's errors alone make any change stand out
RARE = 0.01  # share of what a change alters that fits by chance, at the least
HOPE = 0.5  # sure answers that a change must make right by itself to be tried with others
BEAM = 6  # readings that are extended at a time

Change = tuple[
    Misreading, ...
]  # of a scene: one misreading, or two of the same kind if objects exchange a value
Reading = tuple[Change, ...]
GROUPS = (MORE, FEWER, OTHERWISE) = ("more", "fewer", "otherwise")
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Explained:
    """The misreadings, the strongest first; `by[i]` is the first one after which answer i is no mistake any more.

    0 stands for answers that were right in the first place, 1 for the first misreading, and so on; None for mistakes
    that stay. A question that has no answer in the changed scene ("the small cube", where the model saw none), or none
    that is known, counts as explained, since whatever the model said follows from that. `margins[k]` is what misreading
    k explains beyond what it contradicts, in sure answers; objects that exchange a value share theirs.
    """

    misreadings: tuple[Misreading, ...] = ()
    by: tuple[int | None, ...] = ()
    margins: tuple[float, ...] = ()


def explain(facts: Facts, answers: Sequence[Answered], vocabulary: Vocabulary = CLEVR) -> Explained:
    """What is misread in a scene, as answers tell, each of which counts by its weight.

    Readings grow by one change at a time from the best BEAM. A change must explain LEAST_MARGIN sure answers more than
    it contradicts, beside all others, and more than errors would by chance (`Case.chance`). If another reading explains
    as much up to LEAST_LEAD, only what both share is named, but for the same change of an object of the same kind. An
    attribute may be taken for any value of the vocabulary, revoked ones included: no scene holds those, but a model may
    see them. Nothing is named in a scene of more than MAX_TRACED objects.
    """
    if not answers or len(facts.scene.objects) > MAX_TRACED:
        return Explained(by=(None,) * len(answers))
    case = Case(facts, answers, vocabulary)
    best = () if case.right.all() else case.agreed(case.best())
    least = case.chance(best) if best else {}
    margins = [case.margin(best, change) for change in best]
    while weak := [k for k, change in enumerate(best) if margins[k] < least[_group(change)]]:
        best = tuple(change for k, change in enumerate(best) if k not in weak)
        margins = [case.margin(best, change) for change in best]
    order = sorted(range(len(best)), key=lambda k: -margins[k])
    return Explained(
        tuple(read for k in order for read in best[k]),
        case.by(tuple(best[k] for k in order)),
        tuple(margins[k] for k in order for _ in best[k]),
    )


class Case:
    """A scene with a model's answers, and the readings that were tried, each with what it explains less its cost."""

    def __init__(self, facts: Facts, answers: Sequence[Answered], vocabulary: Vocabulary) -> None:
        self.facts, self.vocabulary = facts, vocabulary
        self.changes = list(_changes(facts.scene, vocabulary))
        self.least = min(facts.shares, default=0.0)
        self.said = [answer.said for answer in answers]
        self.weights = np.array([answer.weight for answer in answers])
        self.questions = joined([answer.program for answer in answers])
        fits, exist = self.fits([()])
        self.right: Bools = (fits & exist)[:, 0]
        self.tried: dict[frozenset[Misreading], tuple[float, Reading]] = {frozenset(): (0.0, ())}

    def best(self) -> Reading:
        """The reading that explains most, less its cost."""
        singles = self._hopeful([(change,) for change in self.changes])
        more = [*singles, *_of_one_object(singles)]
        beam: list[Reading] = [()]
        ahead, idle = 0.0, 0
        for _ in range(MAX_MISREADINGS):
            pairs = ((known, new) for known, new in product(beam, more) if _fit(known, new))
            grown = self._try(
                [(*known, *new) for known, new in pairs if len(_key((*known, *new))) <= MAX_MISREADINGS]
            )
            if not grown:
                break
            idle = 0 if grown[0][0] > ahead else idle + 1
            if idle > 1:  # after one idle round two changes may explain what neither does alone
                break
            ahead, more = max(ahead, grown[0][0]), singles
            beam = [reading for _, reading in grown[:BEAM]]
        return max(self.tried.values(), key=lambda row: row[0])[1]

    def agreed(self, best: Reading) -> Reading:
        """The changes that the reading shares with all others that explain as much up to LEAST_LEAD.

        Readings that hold all its changes, or only some of them, are no others; nor are those that see the same things
        in place of the same objects, such as one missed and a phantom where the first has its color and size misread.
        """
        key, same = _key(best), self.outcome(best)
        score, _ = self.tried[key]
        rivals = [
            reading
            for other, (ahead, reading) in self.tried.items()
            if ahead >= score - LEAST_LEAD and not other <= key and not other >= key
            if self.outcome(reading) != same
        ]
        looks = [{self.look(change) for change in reading} for reading in rivals]
        return tuple(change for change in best if all(self.look(change) in each for each in looks))

    def margin(self, reading: Reading, change: Change) -> float:
        """What a change explains beyond what it contradicts, beside the others of a reading."""
        whole, without = self.explained([reading, tuple(each for each in reading if each != change)])
        return round(float(whole - without), 6)

    def chance(self, best: Reading) -> dict[str, float]:
        """For each group of changes, the margin that errors alone hardly reach: LEAST_MARGIN or more.

        A share q of what any further change alters fits the answers by chance. Of n altered answers, explained less
        contradicted ones then reach a margin m with probability (q / (1 - q))^m at most: the mean of
        ((1 - q) / q)^(explained - contradicted) is 1 (Wald 1944, Ann. Math. Stat. 15, 283-296), or less if answers have
        weights up to 1. The bound is BY_CHANCE over all changes. A model that counts too many throughout thus shows no
        phantom: every phantom would fit.
        """
        others = [change for change in self.changes if _fit(best, (change,))]
        fits, exist = self.fits([best, *((*best, other) for other in others)])
        right, known = fits[:, :1], exist[:, 1:] & exist[:, :1]
        gains = self.weights @ (known & fits[:, 1:] & ~right)
        losses = self.weights @ (known & ~fits[:, 1:] & right)
        least = {}
        for group in GROUPS:
            mine = np.array([_group(change) == group for change in others], np.bool_)
            explained, altered = float(gains[mine].sum()), float((gains + losses)[mine].sum())
            share = (explained + RARE) / (altered + 1.0)
            odds = math.log(1.0 / share - 1.0) if share < 0.5 else 0.0
            least[group] = (
                max(LEAST_MARGIN, math.log(len(self.changes) / BY_CHANCE) / odds) if odds else math.inf
            )
        return least

    def by(self, reading: Reading) -> tuple[int | None, ...]:
        """See `Explained`."""
        firsts = np.cumsum([1, *(len(change) for change in reading)])
        fits, exist = self.fits([reading[: k + 1] for k in range(len(reading))] or [()])
        is_explained = fits | ~exist
        found: list[int | None] = []
        for right, row in zip(self.right, is_explained, strict=True):
            explains = reading and row.any()
            found.append(0 if right else int(firsts[row.argmax()]) if explains else None)
        return tuple(found)

    def _hopeful(self, readings: Sequence[Reading]) -> list[Reading]:
        """Those that make mistakes right, whatever they contradict."""
        fits, exist = self.fits(readings)
        mended = np.where(self.right, 0.0, self.weights) @ (fits & exist)
        return [reading for reading, weight in zip(readings, mended, strict=True) if weight >= HOPE]

    def _try(self, readings: Sequence[Reading]) -> list[tuple[float, Reading]]:
        """The readings among these that are new, best first."""
        new = {key: reading for reading in reversed(readings) if (key := _key(reading)) not in self.tried}
        rows = list(new.items())[::-1]
        if not rows:
            return []
        scores = self.explained([reading for _, reading in rows])
        for (key, reading), explained in zip(rows, scores, strict=True):
            cost = sum(map(self._cost, reading))
            self.tried[key] = (round(float(explained) - cost, 6), reading)
        return sorted((self.tried[key] for key, _ in rows), key=lambda row: -row[0])

    def explained(self, readings: Sequence[Reading]) -> Floats:
        """(R,): what each reading explains less what it contradicts, in sure answers."""
        fits, exist = self.fits(readings)
        change = np.where(exist, fits.astype(np.float64) - self.right[:, None], 0.0)  # (Q, R)
        found: Floats = self.weights @ change
        return found

    def fits(self, readings: Sequence[Reading]) -> tuple[Bools, Bools]:
        """(Q, R): whether the answers are right under each reading, and whether the questions have one then."""
        seen = as_seen(
            self.facts.scene,
            [[read for change in reading for read in change] for reading in readings],
            self.vocabulary,
        )
        numbers, exist = seen.answers(self.questions)
        return numbers == self.questions.numbers(self.said, seen.variants.values)[:, None], exist

    def _cost(self, change: Change) -> float:
        """LEAST_MARGIN, and more for objects that are better seen than others."""
        shares = self.facts.shares
        better = sum(shares[read.index] - self.least for read in change if read.index is not None)
        weight = {"missed": FULL_VIEW, "doubled": 0.0}.get(change[0].kind, TIE)
        return LEAST_MARGIN + weight * better

    def outcome(self, reading: Reading) -> tuple[set[int], list[tuple[str, ...]]]:
        """The objects that are missed or taken for others, and all that is seen, mirrored directions among it."""
        reads = [read for change in reading for read in change]
        items: list[SceneObject | None] = list(self.facts.scene.objects)
        seen: list[tuple[str, ...]] = []
        for read in sorted(reads, key=lambda read: read.kind not in ATTRIBUTE_KINDS):
            if read.index is None:
                seen.append(category_of(read.value) if read.kind == "phantom" else (read.value,))
            elif (item := items[read.index]) is not None:
                if read.kind == "missed":
                    items[read.index] = None
                elif read.kind == "doubled":
                    seen.append(item.category)
                else:
                    items[read.index] = with_attribute(item, read.kind, read.value)
        seen += [item.category for item in items if item is not None]
        taken = {read.index for read in reads if read.index is not None and read.kind != "doubled"}
        return taken, sorted(seen)

    def look(self, change: Change) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """A change with kinds of objects in place of objects; a doubled object and a phantom like it are one."""
        items = self.facts.scene.objects
        rows = list[tuple[str, str, tuple[str, ...]]]()
        for read in change:
            if read.kind == "doubled" and read.index is not None:
                rows.append(("phantom", object_words(self.facts.scene, read.index), ()))
            else:
                rows.append((read.kind, read.value, () if read.index is None else items[read.index].category))
        return tuple(sorted(rows))


def _group(change: Change) -> str:
    """What changes are compared with: those that add, those that leave out, and others."""
    return {"phantom": MORE, "doubled": MORE, "missed": FEWER}.get(change[0].kind, OTHERWISE)


def _key(reading: Reading) -> frozenset[Misreading]:
    return frozenset(read for change in reading for read in change)


def _changes(scene: Scene, vocabulary: Vocabulary) -> Iterator[Change]:
    """Every single change of a scene."""
    for index, item in enumerate(scene.objects):
        yield (Misreading("missed", index),)
        yield (Misreading("doubled", index),)
        for kind in ATTRIBUTE_KINDS:
            for value in vocabulary.values(kind):
                if value != getattr(item, kind):
                    yield (Misreading(kind, index, value),)
    for number, other in combinations(range(len(scene.objects)), 2):
        for kind in ATTRIBUTE_KINDS:
            first, second = (getattr(scene.objects[index], kind) for index in (number, other))
            if first != second:
                yield (Misreading(kind, number, second), Misreading(kind, other, first))
    for value in MIRRORS:
        yield (Misreading("mirrored", None, value),)
    for read in phantoms(vocabulary):
        yield (read,)


def _of_one_object(singles: Sequence[Reading]) -> Iterator[Reading]:
    """Every two attributes of one object misread."""
    reads = [change[0] for (change,) in singles if len(change) == 1 and change[0].kind in ATTRIBUTE_KINDS]
    for first, second in combinations(reads, 2):
        if first.index == second.index and first.kind != second.kind:
            yield ((first,), (second,))


def _fit(reading: Reading, new: Reading) -> bool:
    """Whether a reading can have more changes: none twice, no object missed and something else."""
    known = [read for change in reading for read in change]
    reads = [read for change in new for read in change]
    for read in reads:
        if read.index is None:
            if read in known:
                return False
        elif any(
            read.index == other.index and (read.kind == other.kind or "missed" in (read.kind, other.kind))
            for other in known
        ):
            return False
    return True
