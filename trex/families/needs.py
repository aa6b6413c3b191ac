"""What a failure needs: which of the conditions that hold for a failing unit must hold for it to fail.

One failing scene fits any rule of its own conditions. Changed copies of it tell the rules apart: a conjunction is
learned from one positive example and queries (Angluin 1988, Machine Learning 2, 319-342), here with chance: a model
may fail in a share of the scenes, and elsewhere. Each conjunction of at most MOST conditions is as likely as the others
of its length, and lengths are alike. Given a conjunction, failures have one chance where it holds, by Beta(1, 1/2), and
another elsewhere, by Beta(1/2, 20); so its likelihood is a product of two beta-binomial ones. That nothing matters
is a conjunction of none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from trex.families.rules import Bools
from trex.inference.types import Floats

MOST = 4  # conditions
EXTENDED = 100  # of the most likely conjunctions of MOST - 1 conditions, which alone get another one
TOGETHER = 2000  # conjunctions, the most likely ones, that choose the next copies
INSIDE, OUTSIDE = (1.0, 0.5), (0.5, 20.0)  # of the beta distributions of both chances
CELLS = 1 << 26  # of the largest table that is made at once
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Needs:
    """Conjunctions of conditions, as tuples of columns, the most likely first, and their probabilities (k,)."""

    conjunctions: tuple[tuple[int, ...], ...]
    probabilities: Floats

    @property
    def best(self) -> tuple[int, ...]:
        """The most likely conjunction; () if nothing seems to matter."""
        return self.conjunctions[0]

    @property
    def probability(self) -> float:
        """That of the most likely one."""
        return float(self.probabilities[0])

    @property
    def included(self) -> float:
        """The probability that all of its conditions are needed, whatever else is.

        What follows from them, as less than 40% visible does from less than 20%, shares their probability: nothing can
        tell such conjunctions apart.
        """
        best = set(self.best)
        pairs = zip(self.conjunctions, self.probabilities.tolist(), strict=True)
        return float(sum(each for conjunction, each in pairs if best <= set(conjunction)))


class Evidence:
    """Cases with m conditions, and which of them are events: what tells conjunctions apart.

    Each condition holds for the failing unit itself, one of the cases.
    """

    def __init__(self, m: int) -> None:
        self._m, self._cases, self._events = m, list[Bools](), list[Bools]()
        self._counts = [np.zeros((2, len(_all_places(m, size)))) for size in range(MOST)]

    def add(self, holds: Bools, events: Bools) -> None:
        """Take in cases: which conditions hold (n, m), and which are events (n,)."""
        self._cases.append(holds)
        self._events.append(events)
        for size, counts in enumerate(self._counts):
            counts += _counted(_all_places(self._m, size), holds, events)

    def needs(self) -> Needs:
        """The conjunctions; those of MOST conditions extend the most likely ones of one condition less."""
        holds, events = np.concatenate(self._cases), np.concatenate(self._events)
        sizes = [_all_places(self._m, size) for size in range(MOST)]
        scores = [self._scores(*pair, events) for pair in enumerate(self._counts)]
        sizes.append(_extended(sizes[-1][np.argsort(-scores[-1], kind="stable")[:EXTENDED]], self._m))
        scores.append(self._scores(MOST, _counted(sizes[-1], holds, events), events))
        every = np.concatenate(scores)
        order = np.argsort(-every, kind="stable")[:TOGETHER]
        starts = np.cumsum([0, *map(len, sizes)])
        at = np.searchsorted(starts, order, side="right") - 1
        chosen = tuple(
            tuple(map(int, sizes[k][place - starts[k]])) for k, place in zip(at, order, strict=True)
        )
        weights = np.exp(every - every.max())
        return Needs(chosen, weights[order] / weights.sum())

    def _scores(self, size: int, counts: Floats, events: Bools) -> Floats:
        """(k,): log probabilities of conjunctions of one length, but for a constant."""
        from scipy.special import betaln

        (cases, inside), n, total = counts, len(events), float(events.sum())
        parts = (
            [(OUTSIDE, inside, cases)]
            if size == 0
            else [(INSIDE, inside, cases), (OUTSIDE, total - inside, n - cases)]
        )
        scores = np.full(len(cases), -float(np.log(max(1, comb(self._m, size)))))
        for (a, b), hits, of in parts:
            scores += betaln(hits + a, of - hits + b) - betaln(a, b)
        return scores


def telling(known: Needs, candidates: Bools, n: int) -> list[int]:
    """The places of at most n candidates (rows of conditions) whose failures would tell most about what is needed.

    Each next one is that with the largest expected information, in nats, given what the others before it will show
    (Lindley 1956, Annals of Mathematical Statistics 27, 986-1005), as if units failed exactly where a conjunction
    holds. Fewer if no further one would tell anything.
    """
    weights = known.probabilities / known.probabilities.sum()
    shown = np.stack([candidates[:, list(c)].all(axis=1) for c in known.conjunctions], axis=1).astype(
        np.float64
    )
    groups, chosen = np.zeros(len(weights), dtype=np.intp), list[int]()
    while len(chosen) < n:
        apart = np.zeros((len(weights), int(groups.max()) + 1))
        apart[np.arange(len(weights)), groups] = weights
        inside, total = shown @ apart, apart.sum(axis=0)
        gained = (_entropy(inside, total) + _entropy(total - inside, total)).sum(axis=1)
        gained[chosen] = 0.0
        best = int(np.argmax(np.round(gained, 9)))  # processors differ in the last digits of a sum
        if gained[best] <= 1e-9:
            break
        chosen.append(best)
        _, groups = np.unique(groups * 2 + (shown[best] > 0.0), return_inverse=True)
    return chosen


def _counted(places: Places, holds: Bools, events: Bools) -> Floats:
    """(2, k): for each conjunction the cases that meet it, and the events among them."""
    counts = np.zeros((2, len(places)))
    for part in _parts(len(places), len(holds)):
        met = np.ones((len(holds), part.stop - part.start), dtype=np.bool_)
        for column in places[part].T:
            met &= holds[:, column]
        counts[:, part] = met.sum(axis=0), met[events].sum(axis=0)
    return counts


def _parts(k: int, n: int) -> Iterator[slice]:
    step = max(1, CELLS // max(1, n))
    return (slice(at, min(k, at + step)) for at in range(0, k, step))


def _extended(places: Places, m: int) -> Places:
    """Each of the conjunctions with one more condition, each way."""
    longer = {tuple(sorted({*map(int, row), c})) for row in places for c in range(m)}
    size = places.shape[1] + 1
    return _places(sorted(row for row in longer if len(row) == size), size)


@lru_cache(maxsize=32)
def _all_places(m: int, size: int) -> Places:
    return _places(combinations(range(m), size), size)


def _places(rows: Iterable[tuple[int, ...]], size: int) -> Places:
    chosen = list(rows)
    return np.array(chosen, dtype=np.intp).reshape(len(chosen), size)


def _entropy(part: Floats, of: Floats) -> Floats:
    """What a part of each total adds to the entropy: -part log(part / total)."""
    share = np.divide(part, of, out=np.zeros_like(part), where=of > 0.0)
    found: Floats = -part * np.log(np.clip(share, 1e-300, None))
    return found
