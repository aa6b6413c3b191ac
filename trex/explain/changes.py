"""What explains a hit of a world of the user's own: its values changed one at a time, drawn and scored again.

`changes.json` in the run's folder keeps the changes of each hit, by its origin: hits may share a picture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trex.explain.compared import Compared, compared, is_right
from trex.foundation.codec import Codec
from trex.foundation.errors import RunError
from trex.foundation.fields import Number
from trex.foundation.progress import Progress
from trex.foundation.words import quoted
from trex.inference.types import Floats
from trex.pages.notebook_html import block_html
from trex.pages.table import Table, table_of
from trex.pages.wording import points
from trex.query.target import leaves_answer_open
from trex.runs.draw_log import run_draws
from trex.runs.folder import RunFolder
from trex.search.hit import Hit
from trex.search.results import read_results
from trex.trials.hits import no_hit
from trex.worlds.latents import Latent
from trex.worlds.own.vectors import OwnVectors
from trex.worlds.world import OpenWorld

HAPPENS: Mapping[Compared, str] = {
    "truth": "the model is right",
    "answer": "the model answers otherwise",
    "level set": "the picture leaves the level set",
}
HEADS = ("change", "effect", "model", "truth")
FILE = "changes.json"


@dataclass(frozen=True)
class Change:
    """One change of a hit, and the model's answer afterwards; `effect` is the change of the target's confidence.

    `truth` is that of the changed latent, None if it is unknown. `explains`: whether the change explains the hit, by
    what the explanation compares.
    """

    name: str
    answer: str
    effect: Number
    truth: str | None
    explains: bool


@dataclass(frozen=True, repr=False)
class ChangedHit:
    """A hit and what each change of it does; `is_exact`: drawn again unchanged, every probability is the same."""

    hit: Hit
    changes: tuple[Change, ...]
    compared: Compared
    is_exact: bool

    @property
    def responsible(self) -> tuple[str, ...]:
        """The changes that explain the hit, those of the largest effect first; none if the control is not exact."""
        found = sorted((each for each in self.changes if each.explains), key=lambda each: each.effect)
        return tuple(each.name for each in found) if self.is_exact else ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """What explains the hit, and by what that is judged."""
        happens, n = HAPPENS[self.compared], len(self.changes)
        names = ", or ".join(self.responsible)
        after = f"After one change alone ({names})" if names else f"After none of {n} changes"
        control = (
            ()
            if self.is_exact
            else ("THE CONTROL FAILED: drawn again unchanged, the model answers otherwise.",)
        )
        return (
            f"{self.hit.words}: model {self.hit.answer}, truth {self.hit.truth or 'unknown'}.",
            f"{after} {happens}.",
            *control,
        )

    def __repr__(self) -> str:
        return f"<ChangedHit {self.hit.origin}: {self.sentences[1]}>"

    def __str__(self) -> str:
        return "\n".join([*self.sentences, *self.table.text("  ")])

    def _repr_html_(self) -> str:
        """The sentences and the effect of each change, for notebooks."""
        first, *others = self.sentences
        return block_html(first, others, [str(self.table.html("Each change"))], self.hit.origin)

    @property
    def table(self) -> Table[tuple[str, ...]]:
        rows = [(each.name, points(each.effect), each.answer, each.truth or "–") for each in self.changes]
        return table_of("Each change", HEADS, rows)


@dataclass(frozen=True)
class StoredChanges:
    """What a run's folder keeps of a hit: its origin, and the parts of `ChangedHit`."""

    origin: str
    changes: tuple[Change, ...]
    compared: Compared
    is_exact: bool


@dataclass(frozen=True)
class AllChanges:
    """Those of all explained hits."""

    hits: tuple[StoredChanges, ...]
    format: Literal[1] = 1


CODEC = Codec(AllChanges)


def read_changes(folder: RunFolder, found: Sequence[Hit]) -> list[ChangedHit]:
    """The explained ones of these hits, in their order; RunError if the file is damaged."""
    remedy = f"delete it, then: trex explain {quoted(folder.path)}"
    stored = CODEC.read(folder.path / FILE, remedy, inside=folder.path)
    known = {each.origin: each for each in stored.hits} if stored else {}
    return [
        ChangedHit(hit, kept.changes, kept.compared, kept.is_exact)
        for hit in found
        if (kept := known.get(hit.origin)) is not None
    ]


def explain_changes(
    folder: RunFolder, top: int, opened: Callable[[], AbstractContextManager[OpenWorld]], progress: Progress
) -> tuple[ChangedHit, ...]:
    """The most confident hits of a run, each changed in all ways that its world knows; kept in the run's folder.

    RunError if the run has no hits, or if its world has no edits.
    """
    with opened() as world:
        kind = world.plan.world
        if not isinstance(kind, OwnVectors):
            raise RunError(f"{folder.path}: world {kind.name!r} has no edits, which an explanation needs")
        found = read_results(folder.manifest, run_draws(folder)).found[:top]
        if not found:
            raise no_hit(folder, "to explain")
        done = []
        for number, hit in enumerate(found):
            progress("hits explained", number, len(found))
            done.append(_changed(world, kind, hit))
        progress("hits explained", len(found), len(found))
    kept = tuple(StoredChanges(each.hit.origin, each.changes, each.compared, each.is_exact) for each in done)
    folder.write(FILE, CODEC.text(AllChanges(kept)))
    return tuple(done)


def _changed(world: OpenWorld, kind: OwnVectors, hit: Hit) -> ChangedHit:
    z, target, labels = hit.record.z, world.plan.target, world.plan.bound.labels
    edits = dict(kind.edits(z))
    again, *scored = (each.log_probs for each in world.scorer.score([z, *edits.values()]))
    by = _compared(world, hit)
    before = target.confidence(again)

    def change(name: str, changed: Latent, log_probs: Floats) -> Change:
        answer = labels[int(np.argmax(log_probs))]
        truth = world.plan.world.judge(hit.manifest.resolved, changed, answer).truth
        explains = {
            "truth": truth is not None and is_right(answer, truth),
            "answer": answer != hit.answer,
            "level set": not target.is_hit(log_probs),
        }[by]
        return Change(name, answer, target.confidence(log_probs) - before, truth, explains)

    rows = zip(edits.items(), scored, strict=True)
    is_exact = bool(np.array_equal(again, np.array(hit.record.log_probs)))
    return ChangedHit(hit, tuple(change(*item, log_probs) for item, log_probs in rows), by, is_exact)


def _compared(world: OpenWorld, hit: Hit) -> Compared:
    """What changes are compared by: the truth, if the answer is wrong."""
    plan = world.plan
    is_torn = leaves_answer_open(plan.query.target, plan.question, plan.bound.labels)
    if is_torn:
        return "level set"
    return "answer" if hit.truth is None else compared(hit.answer, hit.truth)
