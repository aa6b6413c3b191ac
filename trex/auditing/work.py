"""What an audit works with, and the files in which it keeps what was asked and answered."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trex.auditing.sweeping.examine import Asker
from trex.auditing.sweeping.records import FRESH_SCENES, REMEDY, Settings
from trex.bank.bank import Bank, bank_of
from trex.clevr_models.interface.bound import ClevrModel
from trex.query.toml_file import render_section
from trex.render.cache import CachedRenderer
from trex.scenes.prior import ScenePrior
from trex.worlds.world import open_renderer

MANIFEST, SWEPT, TESTS, PICTURES = "audit.json", "swept.jsonl", "tested.jsonl", "pictures"
PROBES = "probed.jsonl"
FRESH, FRESH_SIZE = "fresh.jsonl", "fresh.json"


@dataclass(frozen=True)
class SweepLog:
    """A log of examined scenes: its file, the members of the bank, and its name."""

    log: str
    members: range
    step: str


@dataclass(frozen=True)
class Work:
    """What an audit works with: the model, the settings, the world, and where everything is kept.

    `probed` scenes like the failures of each confirmed family are made in each way, and the model is asked about
    `fresh` scenes that no rule was made from or judged by; more of both can be asked for later.
    """

    model: ClevrModel
    settings: Settings
    prior: ScenePrior
    folder: Path
    bank: Path | None = None
    processes: int | None = None
    probed: int = 0
    fresh: int = 0

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

    def open_bank(self) -> Bank:
        """The bank of the world at the sweep's look."""
        return bank_of(self.prior, render_section(self.settings.look, self.processes), self.bank)

    def open_renderer(self) -> CachedRenderer:
        """The renderer at the deciding look, which keeps its pictures in the folder."""
        section = render_section(self.settings.deciding, self.processes)
        inner = open_renderer(section, self.prior.vocabulary, self.processes)
        return CachedRenderer(inner, self.folder / PICTURES)


def known_fresh(folder: Path) -> int:
    """The number of fresh scenes that the audit in this folder was asked for so far."""
    known = FRESH_SCENES.read(folder / FRESH_SIZE, REMEDY) if folder.is_dir() else None
    return known.scenes if known else 0
