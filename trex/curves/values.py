"""A dose curve over one named value of a world of the user's own: set to each dose in the hits, all else equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import numpy as np

from trex.curves.curve import Curve, CurveScene, Event, Point
from trex.curves.options import CurveOptions
from trex.curves.shown import ShownCurve
from trex.curves.stored import write_curve
from trex.foundation.errors import InputError, RunError, unknown
from trex.foundation.progress import Progress
from trex.query.target import leaves_answer_open
from trex.runs.draw_log import run_draws
from trex.runs.folder import RunFolder
from trex.search.hit import Hit
from trex.search.results import read_results
from trex.trials.hits import no_hit
from trex.worlds.own.values import Spec
from trex.worlds.own.vectors import OwnVectors
from trex.worlds.world import OpenWorld

DOSES = 9  # by default, over the value's range
OTHER = ("family", "draws", "object")  # options that need objects, noise or families


def value_curve(
    folder: RunFolder,
    options: CurveOptions,
    opened: Callable[[], AbstractContextManager[OpenWorld]],
    progress: Progress,
) -> Curve:
    """The curve over the most confident hits, kept in the run's folder; InputError if no number has this name.

    It is measured anew each time: a picture of such a world is not kept.
    """
    options.refuse(OTHER, "the value of a world of your own has no objects, noise or families; drop it")
    with opened() as world:
        kind = world.plan.world
        if not isinstance(kind, OwnVectors) or not kind.functions.specs:
            raise RunError(
                f"{folder.path}: world {kind.name!r} has no named values, which a curve turns up and down"
            )
        numbers = {spec.name: spec for spec in kind.functions.specs if not spec.entries}
        if options.over not in numbers:
            raise unknown("quantity", options.over, list(numbers), "name one of these with --over")
        results = read_results(folder.manifest, run_draws(folder))
        found = list(zip(results.found, results.families.clusters, strict=True))[: options.scenes]
        if not found:
            raise no_hit(folder, "to change")
        curve = _measured(world, kind, numbers[options.over], found, options, progress)
    write_curve(folder, curve)
    return curve


def _measured(
    world: OpenWorld,
    kind: OwnVectors,
    spec: Spec,
    found: Sequence[tuple[Hit, int]],
    options: CurveOptions,
    progress: Progress,
) -> Curve:
    """The curve of hits, each with its start."""
    doses = _doses(spec, options)
    is_torn = leaves_answer_open(world.plan.query.target, world.plan.question, world.plan.bound.labels)
    event: Event = "level set" if is_torn or not any(hit.is_wrong for hit, _ in found) else "wrong"
    place, target, labels = kind.functions.specs.index(spec), world.plan.target, world.plan.bound.labels
    scenes = []
    for number, (hit, start) in enumerate(found):
        progress("hits changed", number, len(found))
        changed = [hit.record.z.copy() for _ in doses]
        for z, dose in zip(changed, doses, strict=True):
            z[place] = spec.latent(dose)
        points = []
        for z, dose, scored in zip(changed, doses, world.scorer.score(changed), strict=True):
            answer = labels[int(np.argmax(scored.log_probs))]
            truth, is_wrong = kind.judge(hit.manifest.resolved, z, answer)
            is_event = is_wrong if event == "wrong" else target.is_hit(scored.log_probs)
            sure = target.confidence(scored.log_probs)
            is_found = bool(np.array_equal(z, hit.record.z))
            points.append(Point(dose, float(bool(is_event)), sure, answer, truth or "", True, is_found))
        scenes.append(CurveScene(None, -1, tuple(points), start))
    progress("hits changed", len(found), len(found))
    return ShownCurve(spec.name, doses, tuple(scenes), event, range=(spec.low, spec.high))


def _doses(spec: Spec, options: CurveOptions) -> tuple[float, ...]:
    """Those given, or evenly spaced ones over the range; InputError for one outside."""
    given = sorted(set(options.at)) or np.linspace(spec.low, spec.high, options.doses or DOSES).tolist()
    outside = next((dose for dose in given if not spec.low <= dose <= spec.high), None)
    if outside is not None:
        raise InputError(
            f"dose {outside:g} of {spec.name!r} is impossible; give {spec.low:g} to {spec.high:g}"
        )
    return tuple(map(float, given))
