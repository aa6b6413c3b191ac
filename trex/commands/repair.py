"""Identify, distill, label and correct a model's failures, and test whether that helps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from trex.commands.shell.result import Printed
from trex.commands.shell.trust import trust_queries
from trex.commands.verb import Session, Verb
from trex.foundation.options import Options
from trex.foundation.words import quoted
from trex.query.shipped import query_path
from trex.repair.options import FolderOptions, IdentifyOptions, LabelStepOptions, ProveOptions, StepOptions

if TYPE_CHECKING:
    from trex.commands.results.repair import Repair
    from trex.foundation.progress import Progress
    from trex.repair.files import Found

KEPT = "what is done is kept"
NEXT = {"identify": "distill", "distill": "label", "label": "correct", "correct": "report"}


@dataclass(frozen=True)
class Begun(Printed):
    """A repair whose mistakes are grown."""

    repair: Repair


def repair(options: IdentifyOptions, session: Session) -> Begun:
    """Grow mistakes by perturbing the codes of labelled pictures, or rendered scenes.

    What was begun is resumed. Nothing is written if a key, a model or the data cannot be used.
    """
    from trex.commands.results.repair import REPAIRS, begun
    from trex.repair.settings import repair_path

    place = options.out or REPAIRS / repair_path(str(options.query)).stem
    repair = begun(_repair(place, session, options.data, options.processes), str(options.query), options.set)
    printed = _found(repair, "identify")
    return Begun(printed.data, printed.text, repair)


def distill(options: StepOptions, session: Session) -> Printed:
    """Group the mistakes: of digits by a Gaussian mixture with a Dirichlet-process prior, of scenes into families."""
    repair = _repair(options.folder, session, options.data, options.processes)
    repair.distill()
    return _found(repair, "distill")


def label(options: LabelStepOptions, session: Session) -> Printed:
    """Label the groups by votes; without --voters or --votes draw the pictures that `trex label` serves or exports.

    Rendered scenes are labelled by the truth, which the renderer knows: only --processes and --json apply to them.
    """
    from trex.repair.settings import SceneQuery

    repair = _repair(options.folder, session, options.data, options.processes)
    if options.voters is None and not options.votes and not isinstance(repair.query, SceneQuery):
        place = repair.pictures()
        return Printed({"pictures": str(place)}, _vote_words(place, repair))
    repair.label_by(options)
    return _found(repair, "label")


def correct(options: StepOptions, session: Session) -> Printed:
    """Fine-tune the model on the scenarios, with every control, judge all of it by four tests, and measure novelty."""
    repair = _repair(options.folder, session, options.data, options.processes)
    repair.correct()
    return _found(repair, "correct")


def prove(options: ProveOptions, session: Session) -> Printed:
    """Measure what a correction on rendered scenes does to official pictures, and to a new search for the failures."""
    if options.trust:
        trust_queries(map(query_path, options.queries), options.set)
    proof = _repair(options.folder, session).prove_by(options).proof
    assert proof is not None
    words = [*proof.sentences, f"next: trex repair report {quoted(options.folder)}"]
    return Printed({"folder": str(options.folder), **proof.document}, "\n".join(words))


def report(options: FolderOptions, session: Session) -> Printed:
    """Write one page and one JSON file of all finished steps, and say what they show."""
    from trex.repair.report import DOCUMENT, PAGE

    folder = options.folder
    document = _repair(folder, session).document()
    sentences = document["sentences"]
    words = "\n".join(map(str, sentences)) if isinstance(sentences, list) else ""
    files = f"page: {folder / PAGE}\nJSON: {folder / DOCUMENT}"
    return Printed({"page": str(folder / PAGE), **document}, f"{words}\n{files}")


def _repair(place: Path, session: Session, data: Path | None = None, processes: int | None = None) -> Repair:
    from trex.commands.results.repair import Repair, saying

    @contextmanager
    def shown(place: Path) -> Iterator[Progress]:
        yield saying(lambda: session.begin(place), session.display.show)

    return Repair(place, data, processes, shown)


def _found(repair: Repair, step: str) -> Printed:
    """What a step found, and the next command."""
    results = repair.results
    found: Sequence[Found] = [results.found[name] for name in results.found if name == step]
    document: dict[str, object] = {"folder": str(repair.path), **found[0].model_dump()}
    if step == "correct" and results.novelty is not None:
        found = [results.novelty, *found]
        document["novelty"] = results.novelty.model_dump()
    repaired = quoted(repair.path) if NEXT[step] == "report" else _given(repair)
    return Printed(document, "\n".join([*map(str, found), f"next: trex repair {NEXT[step]} {repaired}"]))


def _given(repair: Repair) -> str:
    """The folder, and that of its data if one was named, as a further step takes them."""
    return quoted(repair.path) + ("" if repair.data is None else f" --data {quoted(repair.data)}")


def _vote_words(pictures: Path, repair: Repair) -> str:
    """How people vote on the pictures."""
    return (
        f"pictures to vote on: {pictures}/p*.png\n"
        f"people vote in a browser: trex label {quoted(repair.path)} --serve; elsewhere: --export PAGE\n"
        "votes go into a CSV file with the columns picture,annotator,label: the name of the picture without .png, the "
        'annotator\'s name, and a class or "none"\n'
        f"then: trex repair label {_given(repair)} --votes FILE.csv\n"
        f"or let networks vote: trex repair label {_given(repair)} --voters committee"
    )


def _shown_again(begun: Begun, session: Session) -> Repair:
    """The repair for Python, each of whose steps has a display of its own, or none."""
    from trex.commands.results.repair import display_of

    repair = begun.repair
    return replace(
        repair,
        path=repair.path.absolute(),
        data=repair.data and repair.data.absolute(),
        shown=display_of(not session.display.is_quiet),
    )


BEGIN = Verb(IdentifyOptions, repair, KEPT, result=_shown_again)
COMMAND = typer.Typer(
    no_args_is_help=True,
    help=__doc__,
)


def _add(name: str, options: type[Options], do: Callable[..., Printed]) -> None:
    COMMAND.command(name)(Verb(options, do, KEPT).command())


_add("identify", IdentifyOptions, repair)
_add("distill", StepOptions, distill)
_add("label", LabelStepOptions, label)
_add("correct", StepOptions, correct)
_add("prove", ProveOptions, prove)
_add("report", FolderOptions, report)
