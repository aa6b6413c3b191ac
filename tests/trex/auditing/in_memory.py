"""Audits of planted models in memory: all steps of `trex audit` but the rendering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.trex.auditing.planted_models import Book, Planted, View
from trex.auditing.examine import Asker
from trex.auditing.judging.confirm import Confirmer
from trex.auditing.judging.findings import Finding, HeldOut, covered, findings, in_held_out
from trex.auditing.judging.membership import memberships_of, situations
from trex.auditing.records import TESTED, Examined
from trex.families.discover import discover
from trex.families.family import Family
from trex.inference.scoring import images
from trex.scenes.graph import Facts
from trex.scenes.prior import ScenePrior
from trex.scenes.vocabulary import CLEVR
from trex.trials.lines import Lines

MANY, FEW = 320, 120  # scenes of an audit for a rare and a frequent fault; rules are made from half of them
QUESTIONS = 16
Row = tuple[Facts, Examined]


class Swept(NamedTuple):
    """The examined scenes of a planted model, those that rules are made from first, and what examined them."""

    training: list[Row]
    held_out: list[Row]
    asker: Asker
    book: Book


@cache
def scenes(n: int, revoked: str = "") -> tuple[list[Facts], Book]:
    """The scenes of an audit without these values, and the book of their pictures."""
    vocabulary = reduce(lambda known, value: known.revoke(value), revoked.split(), CLEVR)
    prior, book = ScenePrior(vocabulary, n_objects=(5, 6)), Book()
    book.render([prior.sample(np.random.default_rng([8, i])) for i in range(n)])
    return list(book.facts), book


def swept(view: View, cap: int = 10, n: int = MANY, revoked: str = "", seed: int = 0) -> Swept:
    """The sweep of a planted model."""
    return swept_of(lambda book: Planted(book, view, cap), n, revoked, seed)


def swept_of(model: Callable[[Book], Planted], n: int, revoked: str = "", seed: int = 0) -> Swept:
    """The sweep of a model that reads pictures of the book of these scenes."""
    known, book = scenes(n, revoked)
    asker = Asker(model(book), CLEVR, QUESTIONS, seed, 0.9)
    rows = [
        (facts, asker.examine(facts, images(book.render([facts.scene]))[0], number))
        for number, facts in enumerate(known)
    ]
    return Swept(rows[: n // 2], rows[n // 2 :], asker, book)


def families_of(swept: Swept) -> list[Family]:
    """The families that the first half of the scenes shows."""
    return discover(situations(swept.training, swept.asker), CLEVR)


def judged(
    folder: Path, swept: Swept, families: Sequence[Family], rows: Sequence[Row], severity: Mapping[str, float]
) -> tuple[list[Finding], float]:
    """The findings of families in these scenes, and the share of mistakes that confirmed families hold."""
    scenes = situations(rows, swept.asker)
    seen: list[HeldOut] = in_held_out(families, scenes)
    with Lines(folder / "tested.jsonl", TESTED) as log:
        for number, each in enumerate(seen):
            Confirmer(swept.book, swept.asker).confirm(number, each.family, each.failures[:5], log)
        holders = memberships_of([held_out.family for held_out in seen], scenes)
        found = findings(seen, log.values, holders, severity)
    confirmed = {each.number for each in found if each.is_confirmed}
    return found, covered(holders, confirmed).value


def audited(
    folder: Path,
    view: View,
    cap: int = 10,
    n: int = MANY,
    revoked: str = "",
    severity: Mapping[str, float] | None = None,
) -> tuple[list[Finding], float]:
    """The findings of an audit of a planted model, and the share of mistakes that confirmed families hold."""
    item = swept(view, cap, n, revoked)
    return judged(folder, item, families_of(item), item.held_out, severity or {})
