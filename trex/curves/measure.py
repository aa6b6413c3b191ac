"""Makes a dose curve: changes the misread object of each hit, renders, scores, and keeps the answers in the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trex.curves.curve import Curve, CurveScene, Point
from trex.curves.doses import SEED, quantity_named
from trex.curves.options import CurveOptions
from trex.curves.shown import ShownCurve
from trex.curves.stored import read_curve, write_curve
from trex.curves.subject import Dosed, Subject
from trex.explain.run_families import explained_results, misread_object
from trex.explain.scene_scores import SceneScores, open_scores
from trex.explain.stored import read_explanations
from trex.explain.traces import read_traces
from trex.foundation.errors import InputError
from trex.foundation.progress import Progress, silent
from trex.foundation.words import counted, quoted
from trex.inference.scoring import Scored
from trex.query.target import leaves_answer_open
from trex.runs.draw_log import run_draws
from trex.runs.folder import RunFolder, check_free, check_scenes
from trex.runs.open_world import open_world
from trex.scenes.noise import seeded_draws
from trex.scenes.questions.truth import is_wrong, true_answer
from trex.scenes.scene import Scene, scene_id
from trex.scenes.validity import is_valid
from trex.search.hit import Hit
from trex.trials.hits import no_hit


def measured(
    scores: SceneScores,
    subjects: Sequence[Subject],
    wanted: Curve,
    progress: Progress = silent,
    starts: Sequence[int] | None = None,
) -> Curve:
    """The curve `wanted`, which has no scenes, with these, wherever they come from; `starts` tells which are alike.

    All scenes are changed first. Then every picture is rendered, or read from the cache of the run's explanations, and
    scored as the run scores its draws.
    """
    make, vocabulary = quantity_named(wanted.over).make, scores.world.plan.vocabulary
    rows = []
    for done, subject in enumerate(subjects):
        progress("scenes changed", done, len(subjects))
        rows.append(make(subject, wanted.doses, vocabulary))
    draws = [_draws(dosed.scene, wanted.draws) for row in rows for dosed in row if dosed is not None]
    scored = iter(_scored(scores, [draw for each in draws for draw in each], progress))

    def point(subject: Subject, dosed: Dosed | None) -> Point | None:
        if dosed is None:
            return None
        made = _point(scores, dosed, wanted, [next(scored) for _ in range(wanted.draws)])
        return made and replace(made, is_found=dosed.scene == subject.scene)

    scenes = (
        CurveScene(
            subject.scene,
            subject.misread,
            tuple(point(subject, dosed) for dosed in row),
            None if starts is None else starts[k],
        )
        for k, (subject, row) in enumerate(zip(subjects, rows, strict=True))
    )
    return replace(wanted, scenes=tuple(scenes))


def curve_of_run(
    folder: RunFolder, options: CurveOptions, progress: Progress, processes: int | None = None
) -> Curve:
    """The curve over the hits of a run that is open for writing, kept there; one that is there is not made again.

    After a kill the same call continues: every picture that was rendered is kept. InputError before any render if no
    misread object is known. RunError if the run has no hits, or if its model or renderer has changed.
    """
    doses = quantity_named(options.over).chosen(options.doses, options.at)
    hits, starts = _hits(folder, options)
    pairs = misread_objects(folder, hits, options)
    wanted = ShownCurve(
        options.over,
        doses,
        (),
        "level set" if _is_torn(folder) or not any(hit.is_wrong for hit, _ in pairs) else "wrong",
        options.draws,
        folder.manifest.query.render.preset,
        options.family or 0,
    )
    subjects = [subject for _, subject in pairs]
    return kept_curve(
        folder, subjects, wanted, progress, processes, [starts[scene_id(scene)] for scene, _ in subjects]
    )


def kept_curve(
    folder: RunFolder,
    subjects: Sequence[Subject],
    wanted: Curve,
    progress: Progress,
    processes: int | None = None,
    starts: Sequence[int] | None = None,
) -> Curve:
    """The curve `wanted`, which has no scenes, with these, kept in a run's folder that is open for writing.

    They may be hits, of which `starts` tells which are alike, or any other scenes of the run's world, such as fresh
    members of a family. A curve of the same scenes that is there is not made again. RunError if the run's model or
    renderer has changed.
    """
    known = read_curve(folder, wanted.name)
    if known is not None and _asks_the_same(known, wanted, subjects):
        return known
    check_free(folder.path)
    with open_world(folder, processes) as world:
        curve = measured(open_scores(world, folder, lambda _: None), subjects, wanted, progress, starts)
    write_curve(folder, curve)
    return curve


def _hits(folder: RunFolder, options: CurveOptions) -> tuple[list[Hit], dict[str, int]]:
    """The hits, most confident first, of one family if that is wanted; and for each scene, by its id, its start."""
    check_scenes(folder)
    results = explained_results(folder, run_draws(folder))
    hits = list(results.found)
    starts = {
        scene_id(hit.record.scene): start for hit, start in zip(hits, results.families.clusters, strict=True)
    }
    if options.family is not None:
        families = results.families.known
        if options.family > len(families):
            there = counted(len(families), "family", "families")
            raise InputError(f"{options.written('family')} {options.family}: {folder.path} has {there}")
        hits = [hits[place] for place in families[options.family - 1].members]
    hits = [hit for hit in hits if hit.record.picture]
    if not hits:
        raise no_hit(folder, "to change")
    return hits[: options.scenes], starts


def _is_torn(folder: RunFolder) -> bool:
    """Whether the target wants no sure answer, so that a wrong one says little."""
    about = folder.manifest
    return leaves_answer_open(about.query.target, about.question, about.facts.labels)


def _asks_the_same(known: Curve, wanted: Curve, subjects: Sequence[Subject]) -> bool:
    """Whether a stored curve is the wanted one of these scenes."""
    of = [Subject(scene.scene, scene.index) for scene in known.scenes if scene.scene is not None]
    return replace(known, scenes=()) == wanted and of == list(subjects)


def _draws(scene: Scene, n: int) -> tuple[Scene, ...]:
    """The scene, and n - 1 copies with noise seeds that follow from its own, and by which no hit was chosen."""
    return (scene, *seeded_draws(scene, n - 1, SEED))


def _scored(scores: SceneScores, scenes: Sequence[Scene], progress: Progress) -> list[Scored]:
    found: list[Scored] = []
    progress("pictures scored", 0, len(scenes))
    for start in range(0, len(scenes), scores.batch):
        found += scores.cached.score(scenes[start : start + scores.batch])
        progress("pictures scored", len(found), len(scenes))
    return found


def _point(scores: SceneScores, dosed: Dosed, wanted: Curve, scored: Sequence[Scored]) -> Point | None:
    """What the model said to a changed scene; None if its answer is to be judged and the question has none there."""
    plan = scores.world.plan
    truth = true_answer(plan.question.program, dosed.scene)
    answers = [plan.bound.labels[int(row.log_probs.argmax())] for row in scored]
    if wanted.event == "wrong":
        judged = [is_wrong(answer, truth) for answer in answers]
        if judged[0] is None:
            return None
    else:
        judged = [bool(plan.target.is_hit(row.log_probs)) for row in scored]
    return Point(
        measured=dosed.measured,
        share=sum(map(bool, judged)) / len(judged),
        confidence=sum(plan.target.confidence(row.log_probs) for row in scored) / len(scored),
        answer=answers[0],
        truth=truth,
        is_valid=is_valid(dosed.scene, plan.vocabulary),
    )


def misread_objects(
    folder: RunFolder, hits: Sequence[Hit], options: CurveOptions
) -> list[tuple[Hit, Subject]]:
    """The hits whose misread object is known, with its index; InputError if none is, or if a given one is not there.

    Without given indices, it is what the run's traces tell, else the object responsible by its explanations.
    """
    if options.object:
        indices = _given(hits, options)
    else:
        traces, explained = read_traces(folder), read_explanations(folder)
        indices = [misread_object(hit, traces, explained) for hit in hits]
    found = [
        (hit, Subject(hit.record.scene, index))
        for hit, index in zip(hits, indices, strict=False)
        if index is not None
    ]
    if not found:
        raise InputError(
            f"no misread object of the hits of {folder.path} is known; trex explain {quoted(folder.path)} finds the "
            f"objects responsible, or name the object of each hit with {options.written('object')}"
        )
    return found


def _given(hits: Sequence[Hit], options: CurveOptions) -> list[int | None]:
    """The indices that the user gave, one for each hit from the first on."""
    if len(options.object) > len(hits):
        times = f"{options.written('object')} was given {len(options.object)} times"
        raise InputError(f"{times} for {counted(len(hits), 'hit')}; give it once for each")
    for hit, index in zip(hits, options.object, strict=False):
        last = len(hit.record.scene.objects) - 1
        if not 0 <= index <= last:
            has = f"the hit of {hit.origin} has objects 0 to {last}"
            raise InputError(f"{options.written('object')} {index}: {has}")
    return list(options.object)
