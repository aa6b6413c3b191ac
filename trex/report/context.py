"""What a run's page shows: the one object that the page's template and the sections share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

from trex.explain.explanation import Explanation
from trex.explain.stored import read_explanations
from trex.explain.traces import TracedDraw, Traces, read_traces
from trex.explain.view import ExplanationView, make_explanation_view
from trex.families.family import Family
from trex.foundation.words import counted, percent
from trex.inference.statistics.diagnostics import by_chain
from trex.inference.targets.kind import Goal
from trex.pages import figures
from trex.pages.thumbnails import SMALL_PX
from trex.report.calibration import CalibrationView, calibration_view
from trex.report.first_screen import FirstScreen, Tone, first_screen, tone
from trex.report.gallery import (
    MOST,
    PER_PAGE,
    family_choices,
    first_places,
    kinds,
    light_url,
    picture_url,
    search_order,
)
from trex.report.proof import Proof, proof_of
from trex.runs.folder import RunFolder
from trex.runs.manifest import Manifest
from trex.runs.record import CHAIN, CONTROL, PRIOR
from trex.runs.sessions import SearchSession, read_sessions
from trex.scenes.scene import scene_id
from trex.search.hit import Hit
from trex.search.judging.headline import goal, how_often_words
from trex.search.results import Results
from trex.trials.accuracy import check_words
from trex.trials.confirmation import Confirmation, EnlargedLook, larger_looks, read_confirmations
from trex.trials.holds import Holds, holds_of
from trex.worlds.description import Noun
from trex.worlds.registry import SHIPPED, model_shown

KIND_WORDS = {
    "wrong": "wrong answers",
    "right": "right answers",
    "explained": "explained",
    PRIOR: "of the prior",
    CHAIN: "of chains",
    CONTROL: "of the control",
}

NOT_YET = "Stated once the search has ended: the scenes rendered so far are not a fair sample."


@dataclass(frozen=True)
class ReportContext:
    """The run of a report; files besides its draws are read once, when a section first needs them.

    `files` maps further files with the hits to their descriptions. While the page is growing, it states no rate: it is
    written when something is found, so what it would count by then is not a fair sample.
    """

    per_page: ClassVar[int] = PER_PAGE
    top_answers: ClassVar[int] = 3  # of a hit that is folded

    folder: RunFolder
    results: Results
    files: Mapping[str, str] = field(default_factory=dict)
    is_growing: bool = False

    @property
    def manifest(self) -> Manifest:
        """The run's manifest: query, world, model."""
        return self.folder.manifest

    @property
    def noun(self) -> Noun:
        """The world's noun for a latent."""
        return self.manifest.world.noun

    @cached_property
    def explanations(self) -> Mapping[str, Explanation]:
        """The explanations that `trex explain` has written, by the explained picture."""
        return read_explanations(self.folder)

    @cached_property
    def confirmations(self) -> list[Confirmation]:
        """The confirmations that `trex report --confirm` has written, by preset."""
        return read_confirmations(self.folder)

    @cached_property
    def shown(self) -> list[tuple[int, Hit]]:
        """The gallery: the hits with their places, in the order of their families."""
        return [(place, self.results.found[place]) for place in first_places(self.results.families, MOST)]

    @cached_property
    def steps(self) -> Mapping[int, int]:
        """The rank of each place of the gallery in the order of the search."""
        ordered = sorted(self.shown, key=lambda pair: search_order(pair[1]))
        return {place: step for step, (place, _) in enumerate(ordered)}

    @cached_property
    def truths(self) -> list[str]:
        """All true answers in the gallery, sorted."""
        return sorted({hit.truth or "" for _, hit in self.shown}, key=lambda truth: (truth.zfill(2), truth))

    @cached_property
    def looks(self) -> Mapping[str, EnlargedLook]:
        """Larger looks at hits, by their pictures."""
        return larger_looks(self.confirmations, self.manifest.facts.size)

    def explained(self, hit: Hit) -> ExplanationView | None:
        """The explanation of a hit as the page shows it; None without one."""
        name = hit.record.picture
        known = self.explanations.get(name)
        if known is None:
            return None
        misread = self.traces.misread(hit.record.scene)
        return make_explanation_view(self.folder, known, self.looks.get(name), misread)

    def family(self, place: int) -> Family | None:
        """The family of the hit at this place, None if it is in none."""
        return self.results.families.of(place)

    def image(self, hit: Hit, rank: int = 0) -> str:
        """The picture as a data URL, "" if it is not stored; after the first page a JPEG, which bounds the size."""
        return (picture_url if rank < PER_PAGE else light_url)(self.folder, hit)

    def kinds_of(self, hit: Hit) -> tuple[str, ...]:
        """The kinds that the gallery can be restricted to and this hit is of."""
        return kinds(hit, hit.record.picture in self.explanations)

    @property
    def kinds(self) -> Mapping[str, str]:
        """The kinds of hits that the gallery can be restricted to, with their words."""
        there = {kind for _, hit in self.shown for kind in self.kinds_of(hit)}
        return {kind: words for kind, words in KIND_WORDS.items() if kind in there}

    @property
    def families(self) -> Sequence[tuple[str, str]]:
        """The families that the gallery can be restricted to, as (value, words)."""
        return family_choices(self.results.families, self.noun)

    @property
    def best(self) -> tuple[float, str]:
        """The highest confidence in the target, and of what it is: the mean over new render noise, if there is one."""
        means = self.holds.sure.values()
        if means:
            return max(means), "mean over new render noise"
        return self.results.conclusion.best, "in one picture"

    @property
    def starts(self) -> str:
        """How many of the hits are independent of each other."""
        return f"from {counted(self.results.families.cluster_count, 'independent start')}"

    @property
    def rules(self) -> str:
        """When two latents are distinct."""
        return self.manifest.world.rule

    @property
    def tone(self) -> Tone:
        return tone(self.results)

    @property
    def first(self) -> FirstScreen:
        """What a person reads first."""
        place = self.folder.path
        first = first_screen(self.manifest, self.results, place, self.holds, self.traces, self.explanations)
        return replace(first, how_often=NOT_YET) if self.is_growing else first

    @cached_property
    def holds(self) -> Holds:
        """How far the finding holds, of the scenes that the page shows first."""
        return holds_of(self.folder, self.results)

    @cached_property
    def traces(self) -> Traces:
        """What the model misreads in the hits."""
        return read_traces(self.folder)

    @cached_property
    def proofs(self) -> Mapping[int, Proof]:
        """The pictures that show what the model misreads, by the hit's place, of the first hits of the gallery."""
        found = (
            proof_of(self.folder, place, hit, self._trace(hit), self.explanations.get(hit.record.picture))
            for place, hit in self.shown[: self.per_page]
        )
        return {proof.place: proof for proof in found if proof is not None}

    def _trace(self, hit: Hit) -> TracedDraw | None:
        return self.traces.hits.get(scene_id(hit.record.scene)) if hit.scene is not None else None

    @property
    def often(self) -> str:
        """How often it happens at which look, and how many hits depend on render noise, in sentences."""
        return how_often_words(self.manifest, self.results)

    @property
    def goal(self) -> Goal:
        return goal(self.manifest)

    @property
    def model(self) -> str:
        return model_words(self.manifest)

    @property
    def world(self) -> str:
        return self.manifest.world.scope(self.manifest.query)

    @property
    def target_answers(self) -> tuple[str, ...]:
        """The answers that the target names, which a card marks."""
        query = self.manifest.query
        return query.answer or tuple(query.target.probabilities)

    @property
    def is_small(self) -> bool:
        """Whether the pictures are enlarged without blurring."""
        return self.manifest.facts.size[0] < SMALL_PX

    @property
    def accuracy_check(self) -> Sequence[str]:
        """Sentences on whether the model is as good as published; none if nothing is known."""
        return check_words(self.manifest.facts.weights, self.manifest.facts.model)

    @property
    def calibration(self) -> CalibrationView | None:
        return calibration_view(self.manifest, self.results)

    @property
    def seconds(self) -> float:
        """The time of the sessions that rendered."""
        return sum(session.seconds for session in self._sessions)

    @property
    def session_renders(self) -> int:
        return sum(session.renders for session in self._sessions)

    @cached_property
    def _sessions(self) -> list[SearchSession]:
        """A finished run resumed renders nothing, and is left out."""
        return [session for session in read_sessions(self.folder.path) if session.renders]

    @property
    def plots(self) -> list[tuple[str, str, str]]:
        """The plots as (title, alternative text, SVG)."""
        return _plots(self.manifest, self.results)

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """Every parameter of the resolved query, by dotted key."""
        return list(_flat(json.loads(self.manifest.query.model_dump_json()), ""))


def model_words(manifest: Manifest) -> str:
    """Display name of the model."""
    model, shown = manifest.query.model, model_shown(manifest.query, manifest.facts.model)
    if shown == SHIPPED:
        return "the shipped model"
    sampled = f" (sampled, {model.samples} per picture)" if model.samples else ""
    return f"{shown}{sampled}"


def _plots(manifest: Manifest, results: Results) -> list[tuple[str, str, str]]:
    how, target, noun = results.how_often, manifest.target, manifest.world.noun
    hits = sum(target.is_hit(draw.state.log_probs) for draw in results.prior)
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


def _flat(table: Mapping[str, object], prefix: str) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for key, value in table.items():
        if isinstance(value, dict) and value:
            rows += _flat(value, f"{prefix}{key}.")
        else:
            rows.append((prefix + key, json.dumps(value, ensure_ascii=False)))
    return rows
