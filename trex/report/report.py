"""`report.html`: the results of a run on one self-contained page."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from trex.explain.view import make_explanation_view
from trex.families.relatives import family_count_words, family_rule
from trex.foundation.percent import percent
from trex.foundation.words import span
from trex.inference.statistics.diagnostics import by_chain
from trex.inference.targets.kind import Goal
from trex.pages import figures
from trex.pages.glossary import WORDS
from trex.pages.page import TEMPLATES, page
from trex.query.target import goal as target_goal
from trex.report.calibration import calibration_view
from trex.report.family_cards import choices
from trex.report.first_screen import summary, tone
from trex.report.gallery import PER_PAGE, make_cards, small_card_values
from trex.report.section import ReportContext, section_pages
from trex.runs.folder import REPORT, RunFolder
from trex.runs.manifest import Manifest
from trex.runs.record import CHAIN, CONTROL, PRIOR
from trex.runs.sessions import read_sessions
from trex.search.judging.headline import headline, source_words
from trex.search.results import Results
from trex.trials.accuracy import check_words
from trex.trials.confirmation import larger_looks
from trex.worlds.registry import SHIPPED, model_shown

SHOWN_REASONS = 3  # the rest is folded
KIND_WORDS = {
    "wrong": "wrong answers",
    "right": "right answers",
    "explained": "explained",
    PRIOR: "of the prior",
    CHAIN: "of chains",
    CONTROL: "of the control",
}


def write_report(folder: RunFolder, results: Results, files: Mapping[str, str]) -> Path:
    """Write the report of a run; return its path. `files` maps further files with the hits to their descriptions."""
    return folder.write(REPORT, report_html(folder, results, files))


def report_html(folder: RunFolder, results: Results, files: Mapping[str, str]) -> str:
    """The HTML of the report."""
    manifest, kind = folder.manifest, folder.manifest.world
    sessions = [
        one for one in read_sessions(folder.path) if one.renders
    ]  # a finished run resumed renders nothing
    context = ReportContext(folder, results)
    explanations, confirmed = context.explanations, context.confirmations
    looks = larger_looks(confirmed, manifest.facts.size)
    made = {key: make_explanation_view(folder, one, looks.get(key)) for key, one in explanations.items()}
    cards = make_cards(folder, results.found, made, looks, results.families)
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    values: dict[str, object] = {
        "query": manifest.query,
        "results": results,
        "cards": cards,
        "kinds": [kind for kind in KIND_WORDS if any(kind in card.kinds for card in cards)],
        "kind_words": KIND_WORDS,
        "explanations": explanations,
        "sections": list(section_pages(context)),
        "tone": tone(results),
        "summary": summary(manifest, results, explanations, confirmed),
        "families": choices(results.families, kind.noun),
        "families_words": family_count_words(results.families),
        "sources": source_words(results, kind.noun),
        "calibration": calibration_view(manifest, results),
        "glossary": WORDS,
        "per_page": PER_PAGE,
        "accuracy_check": check_words(manifest.facts.weights, manifest.facts.model),
        "script": script,
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "headline": headline(manifest, results),
        "files": files,
        "goal": goal(manifest),
        "reasons": SHOWN_REASONS,
        "model": model_words(manifest),
        "world": kind.scope(manifest.query),
        "target": manifest.target.describe(),
        "plots": _plots(manifest, results),
        "rule": kind.rule,
        "family_rule": family_rule(kind.noun),
        "is_finished": folder.is_finished,
        "seconds": sum(done.seconds for done in sessions),
        "session_renders": sum(done.renders for done in sessions),
        "query_text": folder.query_text,
        "parameters": _parameters(manifest),
        **small_card_values(manifest),
    }
    return page("report.html", values, span=span)


def goal(manifest: Manifest) -> Goal:
    """The target's behavior in words, and the answers that it concerns."""
    return target_goal(manifest.query.target, manifest.question, manifest.facts.labels)


def model_words(manifest: Manifest) -> str:
    """Display name of the model."""
    model = manifest.query.model
    if model_shown(manifest.query, manifest.facts.model) == SHIPPED:
        return "the shipped model"
    sampled = f" (sampled, {model.samples} per picture)" if model.samples else ""
    return f"{manifest.facts.model}{sampled}"


def _plots(manifest: Manifest, results: Results) -> list[tuple[str, str, str]]:
    """The plots as (title, alternative text, SVG)."""
    how, target, noun = results.how_often, manifest.target, manifest.world.noun
    hits = sum(target.is_hit(draw.evaluation.log_probs) for draw in results.prior)
    words = (
        f"{len(results.prior)} {noun.many} from the prior, by the confidence they get; the best has "
        f"{percent(how.best)}; in the level set: {hits}. The count is on a log scale."
    )
    plots = [("Before the search", words, figures.prior_histogram(results.prior, target, noun.many))]
    chains = by_chain(results.chains)
    if chains and chains[0]:
        steps = len(chains[0])
        hit = results.conclusion.n_chains_hit
        before = chains[0][0].index
        after = f" after {before} of warmup" if before else ""
        words = f"{len(chains)} chains of {steps} steps{after}; {hit} of them reached the level set (dots)."
        plots.append(("Confidence along the chains", words, figures.trace(chains, target)))
        words = (
            f"{results.accepted} of {results.proposals} proposals were accepted; {results.invalid} were "
            f"invalid {noun.many}, rejected without a render{', warmup included' if before else ''}."
        )
        plots.append(("Acceptance", words, figures.acceptance(chains)))
    return plots


def _parameters(manifest: Manifest) -> list[tuple[str, str]]:
    """Every parameter of the resolved query, by dotted key."""
    return list(_flat(json.loads(manifest.query.model_dump_json()), ""))


def _flat(table: Mapping[str, object], prefix: str) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for key, value in table.items():
        if isinstance(value, dict) and value:
            rows += _flat(value, f"{prefix}{key}.")
        else:
            rows.append((prefix + key, json.dumps(value, ensure_ascii=False)))
    return rows
