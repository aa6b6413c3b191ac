"""Find the object responsible for each hit of a run, or for an answer about a picture of your own."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trex.commands.verb import Session, Verb, failed
from trex.explain.options import ExplainOptions
from trex.finding.options import RUN
from trex.foundation.errors import InputError
from trex.foundation.options import Option
from trex.foundation.words import percent
from trex.query.verb_options import Endpoint, MaxRequests, Processes, TrustRemoteCode, TrustRun, about_model
from trex.runs.place import RUNS

if TYPE_CHECKING:
    from trex.explain.changes import ChangedHit
    from trex.explain.explain_picture import PictureExplained
    from trex.explain.explain_run import ExplainedHits
    from trex.explain.explanation import Explanation

OF_PICTURES = ("image", "question", "model", "endpoint", "max_requests", "trust_remote_code", "preset", "out")
OF_RUNS = (*ExplainOptions.model_fields, "run", "processes", "trust", "large")
SHOWN_EDITS = 5  # with the greatest effects


class ExplainCommand(ExplainOptions):
    """The options of `trex explain`: of a run's hits, or of one picture of a data set."""

    run: Annotated[Path | None, RUN] = None
    processes: Processes = None
    large: Annotated[
        bool,
        Option(
            "Render the explained scenes once more, large, for the page: 5 s of CPU each.",
            ("--large/--no-large",),
        ),
    ] = True
    trust: TrustRun = False
    dataset: Annotated[
        Path | None, Option("Instead of a run: a picture of this folder in CLEVR's layout.")
    ] = None
    image: Annotated[str, Option("With --dataset: the picture, e.g. CLEVR_val_000004.")] = ""
    question: Annotated[str, Option("With --dataset: the question about it.")] = ""
    model: Annotated[str, Option("With --dataset: the model.")] = "shipped"
    endpoint: Endpoint = None
    max_requests: MaxRequests = None
    trust_remote_code: TrustRemoteCode = False
    preset: Annotated[str, Option("With --dataset: the preset to render its scene at.")] = "reference"
    out: Annotated[Path | None, Option("With --dataset: the folder to write to.")] = None


@dataclass(frozen=True)
class ExplainedRun:
    """The explained hits of a run, and its report."""

    done: ExplainedHits
    report: Path

    def document(self) -> object:
        return _json(self.done)

    def __str__(self) -> str:
        return f"{_text(self.done)}\nreport: {self.report}"

    def fault(self) -> str:
        """Why the effects mean nothing, "" if they do."""
        return "" if self.done.is_exact else "a remove-nothing control is not exact, see above"


@dataclass(frozen=True)
class ExplainedChanges:
    """The explained hits of a run in a world of the user's own, and its report."""

    done: tuple[ChangedHit, ...]
    report: Path

    def document(self) -> object:
        hits = [
            {"hit": each.hit.origin, "responsible": each.responsible, "compared": each.compared}
            | {"is_exact": each.is_exact, "changes": [asdict(change) for change in each.changes]}
            for each in self.done
        ]
        return {"is_exact": not self.fault(), "hits": hits, "report": str(self.report)}

    def __str__(self) -> str:
        return "\n\n".join([*map(str, self.done), f"report: {self.report}"])

    def fault(self) -> str:
        """Why the effects mean nothing, "" if they do."""
        return "" if all(each.is_exact for each in self.done) else "a control is not exact, see above"


@dataclass(frozen=True)
class ExplainedAnswer:
    """The explained answer about one picture, and the folder with its page."""

    explained: PictureExplained
    place: Path

    def document(self) -> object:
        from trex.explain.explain_picture import FILE

        return json.loads((self.place / FILE).read_text(encoding="utf-8"))

    def __str__(self) -> str:
        from trex.explain.explain_picture import PAGE, removal_table

        table = removal_table(self.explained).text("  ")
        return "\n".join([*self.explained.sentences(), *table, f"report: {self.place / PAGE}"])

    def fault(self) -> str:
        """Why the effects mean nothing, "" if they do."""
        return "" if self.explained.control_difference == 0.0 else "the control is not exact, see above"


def explain(options: ExplainCommand, session: Session) -> ExplainedRun | ExplainedChanges | ExplainedAnswer:
    """Report which object is responsible for each hit: leave out each in turn and render the scene again.

    An object is responsible for a wrong answer if the model is right without it.

    In a world of your own, its edits take the place of objects.

    With --dataset, --image and --question, explain the answer on a real picture instead: its scene is rendered again.

    With the defaults a scene of 5 objects takes about 75 renders. Each scene is saved as soon as it is done and
    rendered only once: after Ctrl-C the same command resumes.
    """
    if options.dataset is not None:
        return _explain_picture(options, options.dataset, session)
    if options.run is None:
        raise InputError("give a RUN, or --dataset with --image and --question")
    why = "a RUN is explained as it was searched, and its report is in its folder; drop it, or give --dataset for RUN"
    options.refuse(OF_PICTURES, why)
    if options.flip_depth < 2:
        why = f"it applies to sets of two or more edits, and --flip-depth {options.flip_depth} tries none; drop it"
        options.refuse(["flip_renders"], why)
    if options.nuisances == 0:
        options.refuse(["every_object"], "--nuisances 0 repeats nothing; drop one of the two")
    from trex.commands.results.explaining import explain_with_report
    from trex.commands.shell.trust import trust_runs

    if options.trust:
        trust_runs([options.run])
    done, report = explain_with_report(
        options.run,
        options,
        session.display,
        options.processes,
        large=options.large,
        hint="--no-large skips this",
    )
    return ExplainedChanges(done, report) if isinstance(done, tuple) else ExplainedRun(done, report)


def _explain_picture(options: ExplainCommand, dataset: Path, session: Session) -> ExplainedAnswer:
    options.refuse(OF_RUNS, "--dataset explains one real picture, by its removals alone; drop it")
    if not options.image or not options.question:
        raise InputError("--dataset needs --image and --question too; give both")
    from trex.explain.explain_picture import PictureQuestion, explain_picture

    place = options.out or RUNS / f"explained-{Path(options.image).stem}"
    session.begin(place)
    session.display.say(f"rendering {options.image} again, whole and without each object")
    about = about_model(options)
    wanted = PictureQuestion(dataset, options.image, options.question, options.model, options.preset, about)
    return ExplainedAnswer(explain_picture(wanted, place), place)


def _strongest(explanation: Explanation) -> dict[str, object]:
    """The object responsible, None if several tie, with the lowest effect."""
    from trex.inference.attribution.leave_one_out import only, strongest

    parts = strongest(explanation.counted)
    tied = parts if len(parts) > 1 else ()
    return {"index": only(parts), "effect": min(explanation.counted, default=0.0), "tied": tied}


def _json(done: ExplainedHits) -> dict[str, object]:
    from trex.explain.saliency_agreement import agreements
    from trex.explain.stored import CODEC

    scenes = [
        {
            "strongest": _strongest(explanation),
            "blame": asdict(explanation.blame),
            "compared": explanation.compared,
            "control_is_exact": explanation.control.is_exact,
            "is_stable": explanation.is_stable,
            **json.loads(CODEC.text(explanation)),
        }
        for explanation in done.explanations
    ]
    methods = [asdict(agreement) for agreement in agreements(done.explanations, done.starts)]
    return {"run": str(done.folder), "is_exact": done.is_exact, "scenes": scenes, "agreement": methods}


def _text(done: ExplainedHits) -> str:
    from trex.explain.saliency_agreement import agreements
    from trex.explain.stored import FOLDER

    lines = [
        line
        for n, e in enumerate(done.explanations, start=1)
        for line in (*_scene(n, e, done.traces.misread(e.scene)), "")
    ]
    lines += [agreement.sentence() for agreement in agreements(done.explanations, done.starts)]
    return "\n".join([*lines, f"explanations: {done.folder / FOLDER}"])


def _scene(number: int, explanation: Explanation, misread: tuple[int, ...]) -> list[str]:
    from trex.explain.words import METHOD_NAMES, effect_table, map_words, sentences

    answer, confidence = explanation.control.score.answer, percent(explanation.control.recorded)
    head = f"Scene {number} ({explanation.picture}): model {answer}, truth {explanation.truth}, confidence {confidence}"
    lines = [head, *(f"  {sentence}" for sentence in sentences(explanation, misread))]
    lines += effect_table(explanation, explanation.removals, "").text("    ")
    if explanation.edits is not None:
        strongest = sorted(explanation.edits, key=lambda effect: effect.change)[:SHOWN_EDITS]
        lines.append(f"  Strongest of {len(explanation.edits)} attribute edits:")
        lines += effect_table(explanation, strongest, "").text("    ")
    maps = explanation.saliency.maps if explanation.saliency else ()
    return [
        *lines,
        *(
            f"  {METHOD_NAMES[saliency_map.method]}: {map_words(explanation, saliency_map)}"
            for saliency_map in maps
        ),
    ]


VERB = Verb(
    ExplainCommand,
    explain,
    kept="every explained scene and every render is kept",
    after=lambda _, done: failed(done.fault()),
)
