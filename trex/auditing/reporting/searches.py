"""Searches for mistakes that an audit did not see: a query for each, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trex.auditing.judging.not_found import Hint
from trex.auditing.sweeping.records import Settings
from trex.clevr_models.interface.options import ModelOptions
from trex.finding.find import find
from trex.foundation.files import make_folder, write_atomic
from trex.foundation.progress import Progress
from trex.query.schema import SceneSection
from trex.query.toml_file import parse_query
from trex.query.toml_text import toml_text
from trex.runs.trust import record_made_here
from trex.search.progress import AsStep

FOLDER = "searches"
BUDGET = {
    "search.prior_scenes": 100,
    "search.steps": 50,
    "search.stop_when_found": 5,
    "search.control": False,
}


@dataclass(frozen=True)
class Searched:
    """A search's ending, its distinct scenes found, and the share of its world's scenes in words."""

    ending: str
    found: int
    rate: str


@dataclass(frozen=True)
class Lead:
    """A hint, the query that searches for more of it, and what that found; None if it has not been run.

    `query` and `run` are paths below the audit's folder.
    """

    hint: Hint
    query: str
    searched: Searched | None

    @property
    def run(self) -> str:
        """The folder of the search."""
        return self.query.removesuffix(".toml")


@dataclass(frozen=True)
class SearchTemplate:
    """What all searches of an audit share: its settings, the scenes of its world, and the model with its options."""

    settings: Settings
    scene: SceneSection
    model: str
    options: ModelOptions

    def query(self, one: Hint) -> str:
        """The query for confident mistakes like this one, in the audit's world, at its deciding look."""
        keys: dict[str, object] = {
            "question": one.question,
            "answer": one.said,
            "wrong": True,
            "target.kind": "threshold",
            "target.threshold": self.settings.sure,
            **{f"scene.{name}": getattr(self.scene, name) for name in ("objects", "revoke", "introduce")},
            "model.name": self.model,
            **{f"model.{name}": getattr(self.options, name) for name in self.options.given},
            "render.preset": self.settings.deciding,
            "search.seed": self.settings.seed,
            **BUDGET,
        }
        why = f"in scene {one.scene} the model gave this answer {one.probability:.3f}; true is {one.truth}"
        return (
            f"# {one.what}: {why}.\n{toml_text({key: value for key, value in keys.items() if value != ()})}"
        )


def write_leads(
    folder: Path,
    found: Sequence[Hint],
    template: SearchTemplate,
    n: int,
    progress: Progress,
) -> tuple[Lead, ...]:
    """A query file for each hint in the audit's folder; the first n are searched for, or resumed, in order."""
    leads = []
    for number, one in enumerate(found, start=1):
        make_folder(folder / FOLDER)
        query = f"{FOLDER}/{number}.toml"
        text = template.query(one)
        write_atomic(folder / query, text.encode())
        record_made_here(
            folder / query, parse_query(text, query)
        )  # its model is the one that this user audits
        done = _searched(folder / query, folder / FOLDER / str(number), progress) if number <= n else None
        leads.append(Lead(one, query, done))
    return tuple(leads)


def _searched(query: Path, out: Path, progress: Progress) -> Searched:
    """Run the query, or resume its run."""
    results = find(query, (), out, AsStep(f"search {out.name}, ", progress), lambda _: None).results
    return Searched(results.ending, len(results.found), results.how_often.rate.figure)
