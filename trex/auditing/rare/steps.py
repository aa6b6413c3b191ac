"""The steps of an audit that look for rare failures, each from where its log ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from trex.auditing.judging.findings import Judges, counted_in
from trex.auditing.judging.membership import ExaminedScene, situations
from trex.auditing.judging.sought import FEW, Member, Sought, sought_members
from trex.auditing.rare.choice import chosen_scenes
from trex.auditing.rare.copies import COPIES, ROUND, Copies, is_held, unheld
from trex.auditing.rare.narrow import MORE, holds_most, is_wide, narrower
from trex.auditing.records import EXAMINED, REMEDY, Examined
from trex.auditing.work import Crew, ExamineScenes, Opened, Work
from trex.bank.bank import BATCH, Bank
from trex.families.discover import discover, most_first
from trex.families.family import Family
from trex.foundation.codec import Codec
from trex.foundation.errors import RunError
from trex.foundation.progress import Progress
from trex.render.ahead import CROWDED
from trex.scenes.graph import Facts, touching
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import Vocabulary
from trex.trials.lines import Lines

CHOSEN, CHOSEN_SCENES, COPIED, COPIED_SCENES, WITHIN, NARROWED, SOUGHT, JUDGED = (
    f"rare-{name}.jsonl"
    for name in ("examined", "scenes", "copies", "copied", "within", "narrowed", "sought", "judged")
)
FIRST_CHOSEN, FIRST_COPY = 1 << 42, 1 << 43  # numbers of scenes, for their questions: those of no bank
# Members of the bank: no sweep has as many. The second, so many for each round, are those that rules are narrowed by.
FIRST_SOUGHT, FIRST_WITHIN = 5_000_000, 7_500_000
# Random scenes for each held-out one, of which those that meet a rare family's conditions are sought; the second in a
# world without crowded scenes, whose scenes take 2 to 3 ms to draw and so are not stored, and the third there in audits
# of before.
SOUGHT_IN, SOUGHT_IN_SPARSE, SOUGHT_IN_BEFORE = 4, 64, 16
# Random scenes that are drawn at most in each round of narrowing; the first in a world with crowded scenes.
WITHIN_IN, WITHIN_IN_SPARSE = 1000, 4000
NARROWING_PART = 3  # of the scenes with rare combinations, one more for each so many to narrow rules


@dataclass(frozen=True)
class SoughtRow:
    """The members of the bank that were sought for a family, of so many that were drawn.

    `family` names its symptom and conditions; audits of before do not say them.
    """

    members: tuple[int, ...]
    drawn: int
    is_full: bool
    family: str = ""


@dataclass(frozen=True)
class CopiedRow:
    """The copies that one round made of a scene that failed: of the start with this number."""

    start: int
    scenes: tuple[Scene, ...]


SCENES, SOUGHT_ROWS, COPIED_ROWS = Codec(Scene), Codec(SoughtRow), Codec(CopiedRow)


def families_of(
    opened: Opened, training: Sequence[ExaminedScene], crew: Crew, progress: Progress
) -> list[Family]:
    """The families of these scenes and of others with rare combinations, and those that copies of failures show."""
    work, known, stated = opened.work, list(training), list[Family]()
    if work.settings.rare:
        chosen = _chosen(work.folder / CHOSEN_SCENES, opened, progress)
        members = list(enumerate(chosen, start=FIRST_CHOSEN))
        watched = partial(progress, "scenes with rare combinations")
        rows = _examined(work.folder / CHOSEN, members, work.prior.vocabulary, crew, watched)
        known += situations(rows, work.asker)
    progress("rules", 0, 1)
    families = discover(known, work.prior.vocabulary)
    if work.settings.rare:
        stated = _from_copies(work, known, families, crew, partial(progress, "changed copies of failures"))
    every = _each_once((*stated, *families))
    return _narrowed(opened, known, every, crew, progress) if work.settings.narrows else every


def _narrowed(
    opened: Opened, known: Sequence[ExaminedScene], families: Sequence[Family], crew: Crew, progress: Progress
) -> list[Family]:
    """The families; one that says too little with more random scenes that meet its conditions, and what these add.

    In rounds, as a family that was narrowed may still say too little. A narrower one that holds most failures of the
    wider one takes its place. At most one scene for each NARROWING_PART with rare combinations is examined.
    """
    work, vocabulary = opened.work, opened.work.prior.vocabulary
    scenes, found, members = list(known), list(families), list[Member]()
    left, drawn = work.settings.rare // NARROWING_PART, WITHIN_IN if _is_crowded(work) else WITHIN_IN_SPARSE
    enough, rounds, rows = work.settings.narrows, 0, 0
    wide = [family for family in families if is_wide(family, scenes, enough)]
    while wide and left >= MORE:
        first = FIRST_WITHIN + rounds * drawn
        numbers, now = range(first, first + drawn), wide[: left // MORE]
        sought = _sought(work.folder / WITHIN, opened, now, numbers, progress, MORE, rows)
        more = list({member[0]: member for mine in sought for member in mine.members}.values())
        members += more
        watched = partial(progress, "scenes that narrow rules")
        examined = _examined(
            work.folder / NARROWED, members, vocabulary, crew, watched, len(members) - len(more)
        )
        scenes += situations(examined, work.asker)
        rounds, rows, left, wide = rounds + 1, rows + len(now), left - len(more), wide[len(now) :]
        for family in now:
            narrow = narrower(family, scenes, vocabulary)
            if narrow:
                found.append(narrow)
                if holds_most(narrow, family, scenes):
                    found.remove(family)
                wide += [narrow] if is_wide(narrow, scenes, enough) else []
    return _each_once(found)


def _from_copies(
    work: Work,
    known: Sequence[ExaminedScene],
    families: Sequence[Family],
    crew: Crew,
    progress: Callable[[int, int], None],
) -> list[Family]:
    """The families that changed copies show, of failures that none of these `families` holds."""
    vocabulary, left = work.prior.vocabulary, work.settings.rare
    starts = deque(enumerate(unheld(known, families)))
    members, open_, stated = list[Member](), dict[int, Copies](), list[Family]()
    with Lines(work.folder / COPIED_SCENES, COPIED_ROWS) as log:
        rounds = iter(tuple(log.values))
        while left > 0 and (starts or open_):
            while starts and len(open_) < max(1, work.settings.rare // COPIES):
                number, start = starts.popleft()
                if not is_held(start, stated):
                    open_[number] = Copies(start, known, vocabulary, work.settings.seed, number)
            batches = dict[int, tuple[Scene, ...]]()
            for number, copies in open_.items():
                row = next(rounds, None)
                if row is None:
                    log.append([row := CopiedRow(number, tuple(copies.choice(min(ROUND, left))))])
                elif row.start != number:
                    raise RunError(f"{work.folder / COPIED_SCENES} is of another version; {REMEDY}")
                copies.take(row.scenes)
                batches[number] = row.scenes
                left -= len(row.scenes)
            made = [copy for batch in batches.values() for copy in batch]
            members += enumerate(made, start=FIRST_COPY + len(members))
            rows = _examined(
                work.folder / COPIED, members, vocabulary, crew, progress, len(members) - len(made)
            )
            seen = iter(situations(rows, work.asker))
            for number, batch in batches.items():
                open_[number].learn(list(islice(seen, len(batch))))
                if not batch or left == 0:
                    stated += open_.pop(number).stated()
    return stated


def _each_once(families: Sequence[Family]) -> list[Family]:
    once = {(family.symptom, frozenset(family.pattern.conditions)): family for family in families}
    return most_first(once.values())


def judges_of(
    opened: Opened,
    families: Sequence[Family],
    held_out: Sequence[ExaminedScene],
    crew: Crew,
    progress: Progress,
) -> dict[int, Judges]:
    """By the place of each family whose conditions hold in fewer than FEW held-out scenes: further ones for it.

    What the model says about any scene decides nothing.
    """
    work, asker = opened.work, opened.work.asker
    if not work.settings.rare:
        return {}
    seen = counted_in(families, held_out)
    rare = [k for k, mine in enumerate(seen) if len((mine.wider or mine).inside) < FEW]
    # whatever a unit is taken for: the scenes that judge a sentence decide whether it names that
    each = SOUGHT_IN if _is_crowded(work) else work.settings.sought or SOUGHT_IN_BEFORE
    most = min(
        each * work.settings.held_out, FIRST_WITHIN - FIRST_SOUGHT
    )  # no scene that has narrowed a rule
    numbers = range(FIRST_SOUGHT, FIRST_SOUGHT + most)
    sought = _sought(work.folder / SOUGHT, opened, [families[k].wider for k in rare], numbers, progress)
    members = [member for mine in sought for member in mine.members]
    watched = partial(progress, "scenes of rare families")
    rows = _examined(work.folder / JUDGED, members, work.prior.vocabulary, crew, watched)
    found, at = dict[int, Judges](), 0
    for k, mine in zip(rare, sought, strict=True):
        found[k] = (mine, situations(rows[at : at + len(mine.members)], asker))
        at += len(mine.members)
    return found


def _is_crowded(work: Work) -> bool:
    return work.prior.n_objects[1] > CROWDED


def _chosen(path: Path, opened: Opened, progress: Progress) -> list[Scene]:
    """The scenes with rare combinations, drawn and chosen once."""
    work, n = opened.work, opened.work.settings.rare
    with Lines(path, SCENES) as log:
        if len(log.values) < n:
            seed, processes = work.settings.bank_seed, opened.bank.processes
            log.append(chosen_scenes(work.prior, seed, n, progress, processes)[len(log.values) :])
        return list(log.values)


def _sought(
    path: Path,
    opened: Opened,
    families: Sequence[Family],
    numbers: range,
    progress: Progress,
    enough: int = FEW,
    since: int = 0,
) -> list[Sought]:
    """The random scenes with these numbers in which the conditions of these families hold, drawn once.

    In the log their rows are those from place `since` on.
    """
    work, bank = opened.work, opened.bank
    with Lines(path, SOUGHT_ROWS) as log:
        if len(log.values) < since + len(families):
            drawn = _drawn(
                bank, numbers, _is_crowded(work), partial(progress, "scenes drawn for rare families")
            )
            found = sought_members(families, drawn, work.prior.vocabulary, work.asker.asked, enough)
            rows = [
                SoughtRow(tuple(n for n, _ in each.members), each.drawn, each.is_full, family.key)
                for family, each in zip(families, found, strict=True)
            ]
            log.append(rows[len(log.values) - since :])
        known = log.values[since : since + len(families)]
        for family, row in zip(families, known, strict=True):
            if row.family not in ("", family.key):
                raise RunError(f"{path} is of another version; {REMEDY}")
        return [
            Sought(tuple(zip(row.members, bank.scenes(row.members), strict=True)), row.drawn, row.is_full)
            for row in known
        ]


def _drawn(bank: Bank, numbers: range, keep: bool, progress: Callable[[int, int], None]) -> Iterator[Member]:
    bank.draw_ahead(numbers)
    for place, number in enumerate(numbers):
        progress(place, len(numbers))
        yield number, bank.scenes([number], keep)[0]


def _examined(
    path: Path,
    members: Sequence[Member],
    vocabulary: Vocabulary,
    crew: Crew,
    progress: Callable[[int, int], None],
    since: int = 0,
) -> list[tuple[Facts, Examined]]:
    """The rows of a log about these scenes, its first, completed; those from place `since` on.

    A kill costs BATCH scenes at most.
    """
    if not members:
        return []
    with Lines(path, EXAMINED) as log:
        missing = members[len(log.values) :]
        units = [ExamineScenes(missing[at : at + BATCH]) for at in range(0, len(missing), BATCH)]
        progress(min(len(log.values), len(members)), len(members))
        for _ in crew.do(units, log):
            progress(len(log.values), len(members))
        rows = list(log.values)[since : len(members)]
    if any(row.scene != number for (number, _), row in zip(members[since:], rows, strict=True)):
        raise RunError(f"{path} is of another version; {REMEDY}")
    return [
        (Facts(scene, row.shares, row.hiders, touching(scene, vocabulary)), row)
        for (_, scene), row in zip(members[since:], rows, strict=True)
    ]
