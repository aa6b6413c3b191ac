"""Find the object to blame in each hit of a run, or in an answer about a picture of your own."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.commands.shell.options import Endpoint, MaxRequests, TrustRemoteCode, model_options, refuse
from trex.commands.shell.progress import display_until_stopped
from trex.commands.shell.result import AsJson, note, print_result
from trex.commands.shell.trust import Trust, trust_runs
from trex.foundation.errors import OURS, InputError
from trex.foundation.percent import percent
from trex.runs.place import RUNS

if TYPE_CHECKING:
    from trex.explain.explain_picture import PictureQuestion
    from trex.explain.explain_run import Explained
    from trex.explain.explanation import Explanation

OF_PICTURES = ("image", "question", "model", "endpoint", "max_requests", "trust_remote_code", "preset", "out")
OF_RUNS = (
    "run", "top", "edits", "flip_depth", "flip_renders", "nuisances", "every_object", "saliency", "processes",
    "trust",
    "large",
)  # fmt: skip
SHOWN_EDITS = 5  # with the greatest effects


def explain(
    ctx: typer.Context,
    run: Annotated[
        Path | None, typer.Argument(metavar="[RUN]", help="A run folder, as `trex find` names it first.")
    ] = None,
    top: Annotated[int, typer.Option(help="Number of hits, most confident first.")] = 5,
    edits: Annotated[
        bool,
        typer.Option(
            "--edits/--no-edits", help="Change each attribute of each object: about 11 renders per object."
        ),
    ] = True,
    flip_depth: Annotated[
        int,
        typer.Option(
            help="Search for sets of at most this many edits that together make the model right (or change a right "
            "answer); 0: no search."
        ),
    ] = 2,
    flip_renders: Annotated[
        int,
        typer.Option(
            help="Renders per scene for sets of two or more edits; used only if no single edit flips."
        ),
    ] = 40,
    nuisances: Annotated[
        int,
        typer.Option(
            metavar="K",
            help="Repeat under K other cameras and lights, for the two strongest objects and those to blame: "
            "3 K renders per scene or more; 0: do not repeat.",
        ),
    ] = 5,
    every_object: Annotated[
        bool,
        typer.Option(
            "--every-object", help="With --nuisances: repeat for every object, not only for the chosen ones."
        ),
    ] = False,
    saliency: Annotated[
        bool,
        typer.Option("--saliency/--no-saliency", help="SmoothGrad and integrated gradients (torch models)."),
    ] = True,
    processes: Annotated[
        int | None, typer.Option(help="Render processes; by default the run's own number.")
    ] = None,
    dataset: Annotated[
        Path | None, typer.Option(help="Instead of a run: a picture of this folder in CLEVR's layout.")
    ] = None,
    image: Annotated[str, typer.Option(help="With --dataset: the picture, e.g. CLEVR_val_000004.")] = "",
    question: Annotated[str, typer.Option(help="With --dataset: the question about it.")] = "",
    model: Annotated[str, typer.Option(help="With --dataset: the model.")] = "shipped",
    endpoint: Endpoint = None,
    max_requests: MaxRequests = None,
    trust_remote_code: TrustRemoteCode = False,
    preset: Annotated[
        str, typer.Option(help="With --dataset: the preset to render its scene at.")
    ] = "reference",
    out: Annotated[Path | None, typer.Option(help="With --dataset: the folder to write to.")] = None,
    trust: Trust = False,
    large: Annotated[
        bool,
        typer.Option(
            "--large/--no-large",
            help="Render the explained scenes once more, large, for the page: 5 s of CPU each.",
        ),
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Report which object is to blame in each hit: leave out each in turn and render the scene again.

    An object is to blame for a wrong answer if the model is right without it.

    With --dataset, --image and --question, explain the answer on a real picture instead: its scene is rendered again.

    With the defaults a scene of 5 objects takes about 75 renders. Each scene is saved as soon as it is done and
    rendered only once: after Ctrl-C the same command resumes.
    """
    if dataset is not None:
        refuse(ctx, OF_RUNS, "--dataset explains one real picture, by its removals alone; drop it")
        if not image or not question:
            raise InputError("--dataset needs --image and --question too; give both")
        from trex.explain.explain_picture import PictureQuestion

        asked = model_options(endpoint, max_requests, trust_remote_code)
        wanted = PictureQuestion(dataset, image, question, model, preset, asked)
        _explain_picture(wanted, out, as_json)
        return
    if run is None:
        raise InputError("give a RUN, or --dataset with --image and --question")
    _refuse_ignored(ctx, flip_depth, nuisances)
    from trex.commands.results.explaining import explain_with_report
    from trex.explain.explain_scene import ExplainOptions
    from trex.finding.watchers import NO_LARGE

    options = ExplainOptions(top, edits, flip_depth, flip_renders, nuisances, every_object, saliency)
    if trust:
        trust_runs([run])
    with display_until_stopped("every explained scene and every render is kept") as display:
        done, report = explain_with_report(run, options, display, processes, large=large, hint=NO_LARGE)
    print_result(_json(done), f"{_text(done)}\nreport: {report}", as_json)
    if not done.is_exact:
        note("error: a remove-nothing control is not exact, see above")
        raise typer.Exit(OURS)


def _refuse_ignored(ctx: typer.Context, flip_depth: int, nuisances: int) -> None:
    """Raise InputError for an option that has no effect on the explanation of a run."""
    why = "a RUN is explained as it was searched, and its report is in its folder; drop it, or give --dataset for RUN"
    refuse(ctx, OF_PICTURES, why)
    if flip_depth < 2:
        why = f"it applies to sets of two or more edits, and --flip-depth {flip_depth} tries none; drop it"
        refuse(ctx, ["flip_renders"], why)
    if nuisances == 0:
        refuse(ctx, ["every_object"], "--nuisances 0 repeats nothing; drop one of the two")


def _explain_picture(wanted: PictureQuestion, out: Path | None, as_json: bool) -> None:
    from trex.explain.explain_picture import FILE, PAGE, explain_picture, removal_table

    place = out or RUNS / f"explained-{Path(wanted.image).stem}"
    note(f"writing to {place}")
    with display_until_stopped("every picture that was rendered is kept") as display:
        display.say(f"rendering {wanted.image} again, whole and without each object")
        made = explain_picture(wanted, place)
    words = "\n".join([*made.sentences(), *removal_table(made).text("  "), f"report: {place / PAGE}"])
    print_result(json.loads((place / FILE).read_text(encoding="utf-8")), words, as_json)
    if made.control_difference != 0.0:
        raise typer.Exit(OURS)


def _json(done: Explained) -> dict[str, object]:
    from trex.explain.saliency_agreement import agreements
    from trex.explain.stored import CODEC

    scenes = [
        {
            "culprit": asdict(explanation.culprit),
            "blame": asdict(explanation.blame),
            "compared": explanation.compared,
            "control_is_exact": explanation.control.is_exact,
            "is_stable": explanation.is_stable,
            **json.loads(CODEC.text(explanation)),
        }
        for explanation in done.explanations
    ]
    methods = [asdict(agreement) for agreement in agreements(done.explanations)]
    return {"run": str(done.folder), "is_exact": done.is_exact, "scenes": scenes, "agreement": methods}


def _text(done: Explained) -> str:
    from trex.explain.saliency_agreement import agreements
    from trex.explain.stored import FOLDER

    lines = [line for n, e in enumerate(done.explanations, start=1) for line in (*_scene(n, e), "")]
    lines += [agreement.sentence() for agreement in agreements(done.explanations)]
    return "\n".join([*lines, f"explanations: {done.folder / FOLDER}"])


def _scene(number: int, made: Explanation) -> list[str]:
    from trex.explain.words import METHOD_NAMES, effect_table, map_words, sentences

    answer, confidence = made.control.score.answer, percent(made.control.recorded)
    head = f"Scene {number} ({made.picture}): model {answer}, truth {made.truth}, confidence {confidence}"
    lines = [head, *(f"  {sentence}" for sentence in sentences(made))]
    lines += effect_table(made, made.removals, "").text("    ")
    if made.edits is not None:
        strongest = sorted(made.edits, key=lambda effect: effect.change)[:SHOWN_EDITS]
        lines.append(f"  Strongest of {len(made.edits)} attribute edits:")
        lines += effect_table(made, strongest, "").text("    ")
    maps = made.saliency.maps if made.saliency else ()
    return [*lines, *(f"  {METHOD_NAMES[one.method]}: {map_words(made, one)}" for one in maps)]


COMMAND = explain
