"""What an audit works with, the files in which it keeps all answers, and the units of its work.

Scenes are examined, a family's failures are tried again, a family is probed. A unit's rows are a function of the unit
and the audit's settings alone, so any process may do it, and do it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Protocol, TypeVar

from trex.auditing.examine import Asker
from trex.auditing.judging.confirm import Confirmer, Failing
from trex.auditing.judging.reword import Reworder
from trex.auditing.probe import Prober
from trex.auditing.records import (
    EXAMINED,
    FRESH_SCENES,
    PROBED,
    REWORDED,
    TESTED,
    Examined,
    Probed,
    Reworded,
    Settings,
    Tested,
)
from trex.bank.bank import Bank, bank_of
from trex.clevr_models.interface.bound import ClevrModel
from trex.families.family import Family
from trex.foundation.codec import Codec
from trex.foundation.files import Closing
from trex.inference.scoring import images
from trex.query.toml_file import render_section
from trex.render.cache import CachedRenderer
from trex.scenes.graph import facts_of
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.trials.lines import AGAIN, Rows
from trex.worlds.world import open_renderer

MANIFEST, SWEPT, TESTS, PICTURES = "audit.json", "swept.jsonl", "tested.jsonl", "pictures"
PROBES, WORDS, NUMBERS = "probed.jsonl", "reworded.jsonl", "families.json"
FRESH, FRESH_SIZE = "fresh.jsonl", "fresh.json"
T = TypeVar("T")


@dataclass(frozen=True)
class SweepLog:
    """A log of examined scenes: its file, the members of the bank, and its name."""

    log: str
    members: range
    step: str


@dataclass(frozen=True)
class Work:
    """What an audit works with: the model, the settings, the world, and where everything is kept.

    `probed` scenes like the failures of each confirmed family are made in each way, the failures' questions are put in
    `wordings` ways, and the model is asked about `fresh` scenes that no rule was made from or judged by; more of each
    can be asked for later.
    """

    model: ClevrModel
    settings: Settings
    prior: ScenePrior
    folder: Path
    bank: Path | None = None
    processes: int | None = None
    probed: int = 0
    fresh: int = 0
    device: str = "auto"
    wordings: int = 1

    @property
    def asker(self) -> Asker:
        """The model with its questions."""
        settings = self.settings
        return Asker(
            self.model,
            self.prior.vocabulary,
            settings.questions,
            settings.seed,
            settings.sure,
            settings.families,
        )

    @property
    def total(self) -> int:
        """The number of scenes, those held out among them."""
        return self.settings.scenes + self.settings.held_out

    @property
    def sweeps(self) -> tuple[SweepLog, ...]:
        """The logs of examined scenes: of those that make and judge rules, and of fresh ones if there are any."""
        n = known_fresh(self.folder)
        fresh = SweepLog(FRESH, range(self.total, self.total + n), "fresh scenes")
        return (SweepLog(SWEPT, range(self.total), "scenes"), *((fresh,) if n else ()))


def known_fresh(folder: Path) -> int:
    """The number of fresh scenes that the audit in this folder was asked for so far."""
    known = FRESH_SCENES.read(folder / FRESH_SIZE, AGAIN) if folder.is_dir() else None
    return known.scenes if known else 0


class Opened(Closing):
    """An audit's bank and its renderer at the deciding look, each opened when first needed.

    The steps need one after the other, so the bank is closed once the other is opened: each may hold a Blender.
    """

    def __init__(self, work: Work) -> None:
        self.work, self._renders = work, 0

    @cached_property
    def bank(self) -> Bank:
        """The bank of the world at the sweep's look."""
        work = self.work
        look = render_section(work.settings.look, work.processes, work.device)
        return bank_of(work.prior, look, work.bank, seed=work.settings.bank_seed)

    @cached_property
    def renderer(self) -> CachedRenderer:
        """The renderer at the deciding look, which keeps its pictures in the folder."""
        self._close_bank()
        work = self.work
        section = render_section(work.settings.deciding, work.processes, work.device)
        inner = open_renderer(section, work.prior.vocabulary, work.processes)
        return CachedRenderer(inner, work.folder / PICTURES)

    @property
    def renders(self) -> int:
        """How many pictures were not there before."""
        bank = self.bank.rendered_now if "bank" in vars(self) else 0
        return self._renders + bank + (self.renderer.misses if "renderer" in vars(self) else 0)

    def close(self) -> None:
        """Stop the renderers."""
        self._close_bank()
        if "renderer" in vars(self):
            self.renderer.close()

    def _close_bank(self) -> None:
        if "bank" in vars(self):
            self._renders += self.bank.rendered_now
            self.bank.close()
            del self.bank


class Unit(Protocol[T]):
    """One unit, whose rows are kept by this codec."""

    @property
    def codec(self) -> Codec[T]:
        """The form of its rows in a log."""
        ...

    def known(self, rows: Sequence[T]) -> list[T]:
        """Its own among these rows of a log."""
        ...

    def do(self, opened: Opened, log: Rows[T]) -> None:
        """Append the rows that the log lacks."""
        ...


class Crew(Protocol):
    """Who does the units: this process, or the workers of a farm."""

    def do(self, units: Sequence[Unit[T]], log: Rows[T]) -> Iterator[int]:
        """Append the rows that the log lacks, in the order of the units; yields how many units are done."""
        ...


@dataclass(frozen=True)
class Here:
    """Does the units in this process."""

    opened: Opened

    def do(self, units: Sequence[Unit[T]], log: Rows[T]) -> Iterator[int]:
        """Do one unit after the other; rows are appended as they are made."""
        for done, unit in enumerate(units, start=1):
            unit.do(self.opened, log)
            yield done


@dataclass(frozen=True)
class Examine:
    """Ask all questions about the members of the bank with these numbers, none of which the log has."""

    numbers: range
    codec: ClassVar[Codec[Examined]] = EXAMINED

    def known(self, rows: Sequence[Examined]) -> list[Examined]:
        """None."""
        return []

    def do(self, opened: Opened, log: Rows[Examined]) -> None:
        """Render the scenes, or take them from the bank, and ask the model."""
        members = zip(self.numbers, opened.bank.scenes(self.numbers), strict=True)
        ExamineScenes(list(members)).do(opened, log)


@dataclass(frozen=True)
class ExamineScenes:
    """Ask all questions about these scenes, none of which the log has; each with its number in the log."""

    scenes: Sequence[tuple[int, Scene]]
    codec: ClassVar[Codec[Examined]] = EXAMINED

    def known(self, rows: Sequence[Examined]) -> list[Examined]:
        """None."""
        return []

    def do(self, opened: Opened, log: Rows[Examined]) -> None:
        """Render the scenes at the sweep's look, and ask the model."""
        asker = opened.work.asker
        pictures = images(opened.bank.renderer.render([scene for _, scene in self.scenes]))
        log.append(
            [
                asker.examine(facts_of(scene, asker.vocabulary), image, number)
                for (number, scene), image in zip(self.scenes, pictures, strict=True)
            ]
        )


@dataclass(frozen=True)
class Confirm:
    """Ask about each of these failures of a family once more, at the deciding look."""

    number: int
    family: Family
    failures: Sequence[Failing]
    codec: ClassVar[Codec[Tested]] = TESTED

    def known(self, rows: Sequence[Tested]) -> list[Tested]:
        """The failures that were asked about before."""
        return [row for row in rows if row.family == self.number]

    def do(self, opened: Opened, log: Rows[Tested]) -> None:
        """Go on where the log ends."""
        Confirmer(opened.renderer, opened.work.asker, opened.work.settings.explain).confirm(
            self.number, self.family, self.failures, log
        )


@dataclass(frozen=True)
class Probe:
    """Make scenes like these failures of a family, and ask about them."""

    number: int
    family: Family
    members: Sequence[tuple[int, Scene]]
    codec: ClassVar[Codec[Probed]] = PROBED

    def known(self, rows: Sequence[Probed]) -> list[Probed]:
        """The probes that were made before."""
        return [row for row in rows if row.family == self.number]

    def do(self, opened: Opened, log: Rows[Probed]) -> None:
        """Go on where the log ends."""
        prober = Prober(opened.renderer, opened.work.asker, opened.work.probed)
        prober.probe(self.number, self.family, self.members, log)


@dataclass(frozen=True)
class Reword:
    """Put the questions of these failures of a family, which stayed at the deciding look, in other words."""

    number: int
    family: Family
    failures: Sequence[Failing]
    codec: ClassVar[Codec[Reworded]] = REWORDED

    def known(self, rows: Sequence[Reworded]) -> list[Reworded]:
        """The rows of wordings that were tried before."""
        return [row for row in rows if row.family == self.number]

    def do(self, opened: Opened, log: Rows[Reworded]) -> None:
        """Go on where the log ends."""
        reworder = Reworder(opened.renderer, opened.work.asker, opened.work.wordings)
        reworder.reword(self.number, self.family, self.failures, log)
