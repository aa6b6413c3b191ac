"""Kinds of mistakes that no scene shows: how near the model comes to each, and a search for more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trex.auditing.by_kind import question_kind, shown_kinds
from trex.auditing.examine import Asker
from trex.auditing.options import AuditOptions
from trex.auditing.records import Examined
from trex.finding.find import find_query
from trex.finding.source import query_file
from trex.foundation.files import make_folder, write_atomic
from trex.foundation.progress import Progress
from trex.foundation.words import counted, percent
from trex.query.schema import SceneSection
from trex.query.toml_file import parse_query
from trex.query.toml_text import toml_text
from trex.query.verb_options import about_model
from trex.runs.trust import record_made_here
from trex.scenes.graph import Facts
from trex.scenes.questions.programs import possible_answers
from trex.scenes.questions.wrong_answer import WrongAnswer
from trex.search.progress import AsStep

LEAST, LEAST_SHARE = 5, 0.05  # scenes in which the answer is wrong, for a search to find scenes to begin with
TRIED = 50  # questions of a kind, the surest first
FOLDER = "searches"
BUDGET = {
    "search.prior_scenes": 100,
    "search.steps": 50,
    "search.stop_when_found": 5,
    "search.control": False,
}


@dataclass(frozen=True)
class Hint:
    """The mistake of which the model was surest, of a kind of which no scene shows a confident one.

    `question` is in English; `scene` is the number of the bank's scene, in which `truth` is true.
    """

    what: str
    question: str
    said: str
    truth: str
    probability: float
    scene: int


def hints(rows: Sequence[tuple[Facts, Examined]], asker: Asker) -> tuple[Hint, ...]:
    """One for each kind of wrong answer of which no scene shows a confident mistake, the likeliest first.

    Left out are answers that CLEVR does not have, and questions of which the answer is wrong in too few of these scenes
    (LEAST, LEAST_SHARE): most questions about one object have no answer in most scenes, and a search would spend
    itself on drawing scenes. Kinds without any other are left out.
    """
    known = {kind for _, item in rows for kind in shown_kinds(item)}
    wrong: dict[str, list[tuple[float, int, int]]] = {}  # by kind: -probability, row, place among the answers
    for row, (_, examined) in enumerate(rows):
        for at, answer in enumerate(examined.answers):
            if answer.said != answer.truth and (kind := question_kind(answer)) not in known:
                wrong.setdefault(kind, []).append((-answer.probability, row, at))
    found = (
        next(
            filter(None, (_hint(kind, row, at, rows, asker) for _, row, at in sorted(places)[:TRIED])),
            None,
        )
        for kind, places in wrong.items()
    )
    return tuple(sorted(filter(None, found), key=lambda hint: (-hint.probability, hint.what)))


def _hint(kind: str, row: int, at: int, rows: Sequence[tuple[Facts, Examined]], asker: Asker) -> Hint | None:
    facts, examined = rows[row]
    question, answer = asker.questions(facts.scene, examined.scene)[at], examined.answers[at]
    if answer.said not in possible_answers(question.program):
        return None
    condition = WrongAnswer(question.program, (answer.said,))
    if sum(condition.is_wrong(known.scene) for known, _ in rows) < max(LEAST, LEAST_SHARE * len(rows)):
        return None
    return Hint(kind, asker.words(question), answer.said, answer.truth, answer.probability, examined.scene)


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


def write_leads(
    folder: Path, found: Sequence[Hint], options: AuditOptions, scene: SceneSection, progress: Progress
) -> tuple[Lead, ...]:
    """A query file for each hint in the audit's folder; the first `searched` are searched for, or resumed, in order.

    `scene` is [scene] of the audit's world.
    """
    leads = []
    for number, hint in enumerate(found, start=1):
        make_folder(folder / FOLDER)
        query, text = f"{FOLDER}/{number}.toml", _query(hint, options, scene)
        write_atomic(folder / query, text.encode())
        record_made_here(
            folder / query, parse_query(text, query)
        )  # its model is the one that this user audits
        is_run = number <= options.searched
        done = _searched(folder / query, folder / FOLDER / str(number), progress) if is_run else None
        leads.append(Lead(hint, query, done))
    return tuple(leads)


def _query(hint: Hint, options: AuditOptions, scene: SceneSection) -> str:
    """The query for confident mistakes like this one, in the audit's world, at its deciding look."""
    about = about_model(options)
    keys: dict[str, object] = {
        "question": hint.question,
        "answer": hint.said,
        "wrong": True,
        "target.kind": "threshold",
        "target.threshold": options.sure,
        **{f"scene.{name}": getattr(scene, name) for name in ("objects", "revoke", "introduce")},
        "model.name": options.model,
        **{f"model.{name}": getattr(about, name) for name in about.given},
        "render.preset": options.confirm_preset,
        "search.seed": options.seed,
        **BUDGET,
    }
    why = f"in scene {hint.scene} the model gave this answer {hint.probability:.3f}; true is {hint.truth}"
    return f"# {hint.what}: {why}.\n{toml_text({key: value for key, value in keys.items() if value != ()})}"


def _searched(query: Path, out: Path, progress: Progress) -> Searched:
    """Run the query, or resume its run."""
    watcher = AsStep(f"search {out.name}, ", progress)
    results = find_query(query_file(query, ()), out, watcher, lambda _: None).results
    return Searched(results.ending, len(results.found), results.how_often.rate.figure)


def leads_words(leads: Sequence[Lead]) -> str:
    """What can be searched for, and what was, in one or two sentences."""
    n, done = len(leads), [lead.searched for lead in leads if lead.searched]
    lean = (
        f"The model leans towards {counted(n, 'kind')} of confident mistakes that the random scenes do not show, "
        f"with at most {percent(leads[0].hint.probability)} confidence"
    )
    if not done:
        return (
            f"{lean}; the audit's folder has a query for each (searches), and --searched N runs the first N."
        )
    found = sum(searched.found > 0 for searched in done)
    return f"{lean}; {len(done)} searched for, {found} found."


def searched_words(lead: Lead) -> str:
    """What became of a search: "3 found, 1.2% (.3% to 4%) of the scenes in which that answer is wrong"."""
    searched = lead.searched
    if searched is None:
        return f"not run: {lead.query}"
    found = f"{counted(searched.found, 'scene')} found" if searched.found else searched.ending
    return f"{found}; {searched.rate} of the scenes in which that answer is wrong ({lead.run}/report.html)"
