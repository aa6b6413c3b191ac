"""Compares runs side by side, and two models on the same scenes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from trex.explain.run_families import explained_results
from trex.foundation.errors import InputError
from trex.foundation.words import counted
from trex.inference.statistics.paired import CLEAR, Paired, paired
from trex.inference.statistics.proportion import Proportion
from trex.inference.types import Draw
from trex.report.context import model_words
from trex.report.gallery import picture_url
from trex.runs.draw_log import run_draws
from trex.runs.folder import RunFolder, open_run
from trex.runs.manifest import Manifest
from trex.scenes.questions.answers import is_same
from trex.scenes.questions.truth import NO_ANSWER
from trex.search.hit import Hit, count_known
from trex.search.judging.headline import goal_words
from trex.search.results import Results
from trex.worlds.latents import Latent, identity

CHOSEN = (
    "the scenes that {} judged at the deciding preset were chosen from a bank by the answers of its own model, so that "
    "scenes on which the models differ would be missing; search both with --set search.bank=0, or judge the whole bank "
    "({:,} scenes) with --set render.looks=[]"
)
SHOWN = 6  # pictures per run


@dataclass(frozen=True)
class ComparedRun:
    """One run: its folder, manifest and results, and its first pictures (data URL, words)."""

    name: str
    folder: Path
    manifest: Manifest
    results: Results
    pictures: tuple[tuple[str, str], ...]

    @property
    def model(self) -> str:
        """Display name of the model."""
        return model_words(self.manifest)

    @property
    def target(self) -> str:
        """The target in words."""
        return f"{goal_words(self.manifest)}; world of {self.manifest.world.scope(self.manifest.query)}"

    @property
    def renders_each(self) -> str:
        """Renders per distinct hit, in words."""
        found = len(self.results.found)
        return f"{self.results.renders / found:.1f}" if found else "–"

    @property
    def rate(self) -> Proportion:
        """How often a prior draw is in the level set."""
        return self.results.how_often.rate

    @property
    def wrong(self) -> int | None:
        """The number of hits with a wrong answer; None if it is unknown of all that there are."""
        return count_known(found.is_wrong for found in self.results.found)


@dataclass(frozen=True)
class PairedTest:
    """One paired test of two runs; `p_value` is corrected for all tests of the page (Bonferroni)."""

    first: str
    second: str
    what: str
    counts: Paired
    p_value: float

    @property
    def is_clear(self) -> bool:
        """Whether the difference is significant."""
        return self.p_value < CLEAR

    def __str__(self) -> str:
        return self.counts.words(self.first, self.second, self.what, self.p_value)


@dataclass(frozen=True, repr=False)
class Comparison:
    """All runs, the tests, and why pairs were left out."""

    runs: tuple[ComparedRun, ...]
    tests: tuple[PairedTest, ...]
    unpaired: tuple[str, ...]

    def __repr__(self) -> str:
        names = ", ".join(run.name for run in self.runs)
        return f"<Comparison of {names}: {counted(len(self.tests), 'paired test')}; print it for all>"

    def __str__(self) -> str:
        """Each run on a line, then each test, then why pairs were not tested."""
        runs = [
            f"{run.name}: {run.model}, {run.results.ending}, {counted(len(run.results.found), 'distinct hit')}, "
            f"rate {run.rate.figure}"
            for run in self.runs
        ]
        return "\n".join([*runs, *map(str, self.tests), *(f"not tested: {why}" for why in self.unpaired)])


def compare(paths: Sequence[Path]) -> Comparison:
    """Compare two or more runs; tests each pair with the same question on the prior scenes that both have scored.

    Hits are selected by one model's answers, and so are the scenes that a bank judges at the deciding look: no test
    uses them.
    """
    if len({os.path.realpath(path) for path in paths}) < len(paths):
        raise InputError("one run was given twice; give each run once")
    runs = tuple(_read(path, name) for path, name in zip(paths, _names(paths), strict=True))
    tests: list[PairedTest] = []
    unpaired = []
    for first, other in combinations(runs, 2):
        shared = _shared(first, other)
        why = _why_not(first, other, len(shared))
        if why:
            unpaired.append(f"{first.name} and {other.name}: {why}")
        else:
            tests += _tests(first, other, shared)
    corrected = [replace(test, p_value=min(1.0, test.p_value * len(tests))) for test in tests]
    return Comparison(runs, tuple(corrected), tuple(unpaired))


def comparison_json(comparison: Comparison) -> dict[str, object]:
    """The page's content as JSON: each run's outcome, the tests, and why pairs were left out."""
    return {
        "compared": [
            {"name": run.name, "model": run.model, "ending": run.results.ending, "found": len(run.results.found),
             "families": run.results.families.count, "says_how_often": run.results.how_often.rate.figure,
             "wrong": run.wrong, "renders": run.results.renders}
            for run in comparison.runs
        ],
        "tests": [asdict(test) for test in comparison.tests],
        "unpaired": comparison.unpaired,
    }  # fmt: skip


def _names(paths: Sequence[Path]) -> list[str]:
    """The folders' names, or whole paths for folders that share a name."""
    short = [Path(os.path.realpath(path)).name for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def _read(path: Path, name: str) -> ComparedRun:
    with open_run(path, for_writing=False) as folder:
        records = run_draws(folder)
        results = explained_results(folder, records)
        return ComparedRun(name, path, folder.manifest, results, tuple(_pictures(folder, results)))


def _pictures(folder: RunFolder, results: Results) -> list[tuple[str, str]]:
    shown = [(picture_url(folder, found), found) for found in results.found[:SHOWN]]
    return [(url, _words(folder.manifest, found)) for url, found in shown if url]


def _words(manifest: Manifest, found: Hit) -> str:
    truth = "" if found.truth is None else f", truth {found.truth}"
    return f"{manifest.world.words(found.record.z)}; model {found.answer}{truth}"


def _shared(first: ComparedRun, other: ComparedRun) -> list[tuple[Draw[Latent], Draw[Latent]]]:
    """The pairs of prior draws with the same latent."""
    theirs = {identity(draw.z): draw for draw in other.results.prior}
    return [(draw, theirs[identity(draw.z)]) for draw in first.results.prior if identity(draw.z) in theirs]


def _why_not(first: ComparedRun, other: ComparedRun, shared: int) -> str:
    if first.manifest.query.generator != other.manifest.query.generator:
        return "they search different worlds"
    if first.manifest.facts.program != other.manifest.facts.program:
        return "they were asked different questions"
    if first.manifest.facts.labels != other.manifest.facts.labels:
        return "their models give different answers"
    if looks := _other_looks(first, other):
        return looks
    if _pictures_of(first) != _pictures_of(other):
        return (
            f"their pictures came from different renderers ({_pictures_of(first)} against {_pictures_of(other)}), so a "
            "difference may be the pictures'; search both with the same Blender, device and decoder"
        )
    chosen = [run for run in (first, other) if not run.results.sample.is_whole]
    if chosen:
        return CHOSEN.format(" and ".join(run.name for run in chosen), chosen[0].results.sample.selection.n)
    if not shared:
        noun = first.manifest.world.noun.one
        return f"no prior {noun} is in both; give both the same world, search.seed and prior_scenes"
    return ""


def _other_looks(first: ComparedRun, other: ComparedRun) -> str:
    """Why the scores of two runs cannot be compared: they were taken at different deciding looks."""
    looks = [
        {
            "render.preset =": repr(run.manifest.query.render.preset),
            "render.noise =": repr(run.manifest.query.render.noise),
            "render.views =": repr(run.manifest.query.render.views),
            "pictures of": "x".join(map(str, run.manifest.facts.size)),
        }
        for run in (first, other)
    ]
    different = [
        f"{key} {value} against {looks[1][key]}" for key, value in looks[0].items() if value != looks[1][key]
    ]
    if not different:
        return ""
    words = " and ".join(different)
    return f"they are judged by different pictures ({words}), which may cause a difference; search both with the same"


def _pictures_of(run: ComparedRun) -> str:
    """What the pixels depend on besides the latents: renderer or decoder, and the shapes."""
    versions = run.manifest.made
    shapes = "".join(f", shape {name} {key}" for name, key in sorted(versions.shapes.items()))
    return f"{versions.renderer}{shapes}"


def _tests(
    first: ComparedRun, other: ComparedRun, shared: Sequence[tuple[Draw[Latent], Draw[Latent]]]
) -> list[PairedTest]:
    hits = paired(_hits(first, [a for a, _ in shared]), _hits(other, [b for _, b in shared]))
    truths = [first.manifest.world.judge(first.manifest.resolved, a.z, "").truth for a, _ in shared]
    known = [
        (pair, truth) for pair, truth in zip(shared, truths, strict=True) if truth not in (None, NO_ANSWER)
    ]
    right = paired(
        [is_same(_answer(first, a), truth) for (a, _), truth in known],
        [is_same(_answer(other, b), truth) for (_, b), truth in known],
    )
    rows = [
        (f"{first.manifest.world.noun.many} in the level set ({_targets(first, other)})", hits),
        ("right answers", right),
    ]
    return [
        PairedTest(first.name, other.name, what, counts, counts.p_value) for what, counts in rows if counts.n
    ]


def _targets(first: ComparedRun, other: ComparedRun) -> str:
    targets = dict.fromkeys(run.manifest.target.hit_words for run in (first, other))
    return "; ".join(targets)


def _hits(run: ComparedRun, draws: Sequence[Draw[Latent]]) -> list[bool]:
    target = run.manifest.target
    return [target.is_hit(draw.state.log_probs) for draw in draws]


def _answer(run: ComparedRun, draw: Draw[Latent]) -> str:
    return run.manifest.facts.labels[int(np.argmax(draw.state.log_probs))]
