"""The end of a run so far: its results, the scenes of its hits and its report, written from the draws."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trex.explain.run_families import explained_results
from trex.explain.stored import read_explanations
from trex.explain.traces import read_traces
from trex.families.family import Family
from trex.foundation.errors import InputError, RunError
from trex.foundation.extensions import LIVE
from trex.foundation.words import quoted
from trex.report.context import model_words
from trex.report.first_screen import FirstScreen, first_screen
from trex.report.report import write_report
from trex.runs.draw_log import run_draws
from trex.runs.folder import FINDINGS, REPORT, RunFolder, open_run
from trex.runs.manifest import Manifest
from trex.runs.record import Record
from trex.runs.trust import check_made_here
from trex.scenes.clevr_format.scene_json import SceneRecord, write_scenes
from trex.search.hit import Hit
from trex.search.judging.fail_if import Ruling
from trex.search.judging.headline import family_sentences, goal_words, headline, how_often_words
from trex.search.results import Results
from trex.trials.holds import holds_of
from trex.worlds.latents import SCENES, Latent, to_fields
from trex.worlds.recorded import UNREAD, RecordedVectors
from trex.worlds.world import World

SHOWN = 10  # hits that are printed

SCENES_FILE = "found_scenes.json"


@dataclass(frozen=True)
class Outcome:
    """A run with its results, its page, what a person reads first, and the verdicts on conditions; `str` says it."""

    folder: Path
    manifest: Manifest
    results: Results
    report: Path
    first: FirstScreen
    verdicts: tuple[Ruling, ...] = ()

    def document(self) -> dict[str, object]:
        """All that `findings.json` says, the places and the verdicts."""
        data = json.loads((self.folder / FINDINGS).read_text(encoding="utf-8"))
        return {"run": str(self.folder), "report": str(self.report), **data, **self.verdicts_json()}

    def verdicts_json(self) -> dict[str, object]:
        """The verdicts under one key; nothing if there are none."""
        rows = [
            {"fail_if": each.condition.text, "verdict": each.decision.name.lower(), "reason": each.reason}
            for each in self.verdicts
        ]
        return {"verdicts": rows} if rows else {}

    def __str__(self) -> str:
        """The first hits, the ending, the rate, the families, the verdicts and, last, the path of the report."""
        manifest, results = self.manifest, self.results
        scope = manifest.world.scope(manifest.query)
        asked = f"{model_words(manifest)} {goal_words(manifest)}; world: {scope}"
        lines = [*self.first.lines, "", asked]
        for number, hit in enumerate(results.found[:SHOWN], start=1):
            says = f"{hit.answer} ({hit.answers[0][1]:.3f})"
            truth = "" if hit.truth is None else f"true answer {hit.truth}, "
            of = results.families.numbers[number - 1]
            family = f"family {of}, " if of else ""
            lines.append(f"{number:4}. {family}{truth}model says {says}, confidence {hit.confidence:.3f}")
        if len(results.found) > SHOWN:
            lines.append(f"      and {len(results.found) - SHOWN} more")
        lines.append(f"{results.ending}: {headline(manifest, results)}")
        lines.append(how_often_words(manifest, results))
        lines += [f"  {sentence}" for sentence in family_sentences(results)]
        lines += [sentence for sentence in (results.control, *results.remarks) if sentence]
        return "\n".join([*lines, *(each.words for each in self.verdicts), f"report: {self.report}"])


def conclude_run(
    folder: RunFolder, records: Sequence[Record], *, reloads: bool = False, out: Path | None = None
) -> Outcome:
    """Write the results and the report of the draws so far; with `reloads`, the report reloads itself.

    If the folder cannot be written, the report alone is written to `out`, if that is given. RunError if what the
    folder says would lose what the code of the user's own world adds, as that is not loaded.
    """
    is_poorer = _is_poorer(folder)
    if is_poorer and out is None:
        name = folder.manifest.world.name
        again = f"trex.open_run({str(folder.path)!r}, world=...).report()"
        remedy = f"in Python: {again}" if name.startswith(LIVE) else f"run: trex resume {quoted(folder.path)}"
        raise RunError(
            f"{folder.path / REPORT} was written with the code of {name}, which is not loaded; written again, it would "
            f"lose the true answers and when the model fails. To write it with the code, {remedy}; elsewhere without "
            f"it, run: trex report {quoted(folder.path)} --out FILE.html"
        )
    results = explained_results(folder, records)
    holds = holds_of(folder, results)
    first = first_screen(
        folder.manifest, results, folder.path, holds, read_traces(folder), read_explanations(folder)
    )
    if out is not None and (is_poorer or not os.access(folder.path, os.W_OK)):
        report = write_report(folder, results, {}, reloads=reloads, out=out)
        return Outcome(folder.path, folder.manifest, results, report, first)
    folder.write(FINDINGS, to_json(results, {"finding": first.document(), "holds": holds.document()}))
    files = _write_found_scenes(folder, results.found)
    report = write_report(folder, results, files, reloads=reloads)
    return Outcome(folder.path, folder.manifest, results, report, first)


def renew_report(run: Path, world: World[Latent] | None = None) -> Outcome:
    """Rewrite the results and the report of a run, with all explanations and confirmations that it now has.

    Raises RunError if the run has no prior draw yet.
    """
    with open_run(run, for_writing=True, world=world) as folder:
        return conclude_run(folder, run_draws(folder))


def _is_poorer(folder: RunFolder) -> bool:
    """Whether the folder's results were written with the code of the user's own world, which is not loaded now.

    Not those of a run of somebody else, whose page is not to be believed.
    """
    path = folder.path / FINDINGS
    if not isinstance(folder.manifest.world, RecordedVectors) or not path.is_file():
        return False
    try:
        check_made_here(folder.path, folder.manifest.query)
    except InputError:
        return False
    return UNREAD not in path.read_text(encoding="utf-8")


def _write_found_scenes(folder: RunFolder, found: Sequence[Hit]) -> Mapping[str, str]:
    """Write the hits as scene files; return each file's name with its description, nothing without objects."""
    if folder.manifest.world.form is not SCENES:
        return {}
    scenes = [
        SceneRecord(hit.record.scene, f"{hit.record.picture}.png", index, "found")
        for index, hit in enumerate(found)
    ]
    info = {"split": "found", "question": folder.manifest.facts.question}
    write_scenes(folder.path / SCENES_FILE, scenes, info)
    return {SCENES_FILE: "as CLEVR scenes"}


def to_json(results: Results, first: Mapping[str, object]) -> str:
    """The results as JSON, after `first`, values under keys of their own."""
    how = results.how_often
    data: Mapping[str, object] = {
        **first,
        "ending": results.ending,
        "sentences": [*results.conclusion.sentences, *filter(None, [results.control]), *results.remarks],
        "how_often": {
            "prior_draws": how.n, "hits": how.hits, "rate": how.rate.point, "interval_95": list(how.rate_interval),
            "says": how.rate.figure, "mass": how.mass.value if how.says_mass else None, "is_common": how.is_common,
        },
        "renders": results.renders,
        "cheap_renders": results.cheap,
        "best_confidence": results.conclusion.best,
        "proposals": results.proposals,
        "invalid": results.invalid,
        "accepted": results.accepted,
        "families": results.families.count,
        "family_list": [_family_json(results, family) for family in results.families.known],
        "sources": results.families.source_count,
        "found": [_scene_json(results, place) for place in range(len(results.found))],
        "fragile": [_hit_json(hit) for hit in results.fragile],
    }  # fmt: skip
    return json.dumps(data, indent=1) + "\n"


def _family_json(results: Results, family: Family) -> Mapping[str, object]:
    rate = family.rate
    return {
        "family": family.number, "words": family.words, "evidence": family.evidence, "scenes": family.size,
        "starts": family.clusters, "what": family.symptom.what, "became": family.became,
        "conditions": [condition.key for condition in family.pattern.conditions],
        "confirmed": family.is_established,
        "share_of_hits": family.size / len(results.found), "representative": family.representative,
        "rate": rate.point if rate else None, "interval_95": list(rate.interval) if rate else None,
    }  # fmt: skip


def _scene_json(results: Results, place: int) -> Mapping[str, object]:
    family, source = results.families.numbers[place], results.families.sources[place]
    return {"family": family, "source": source, **_hit_json(results.found[place])}


def _hit_json(found: Hit) -> Mapping[str, object]:
    record, noise = found.record, found.noise
    return {
        "phase": record.phase, "chain": record.chain, "index": record.index,
        "true_answer": found.truth, "model_answer": found.answer, "confidence": found.confidence,
        "mean_confidence": found.mean_confidence,
        "noise_draws": {"of": noise.n, "stay": noise.stay} if noise else None,
        "probabilities": {answer: p for answer, p in found.answers if p >= 1e-4},
        "picture": f"pictures/{record.picture}.png" if record.picture else "",
        **to_fields(record.z),
    }  # fmt: skip
