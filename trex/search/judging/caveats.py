"""Caveats that the draws themselves show: a renderer that disagrees with the id map, a model that seldom answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trex.clevr_models.interface.answers import MOST, UNPARSED
from trex.foundation.words import percent, rough_span
from trex.inference.statistics.two_phase import estimate, spread_share, with_spread
from trex.runs.manifest import Manifest
from trex.runs.record import BANK, CALIBRATION, PRIOR, Record
from trex.scenes.camera import HEIGHT_PX, WIDTH_PX
from trex.scenes.validity import MIN_PIXELS
from trex.scenes.visibility import visible_pixels
from trex.scenes.vocabulary import Vocabulary
from trex.search.sampling.prior_sample import PriorSample
from trex.worlds.costs import ON_CPU, spread_s
from trex.worlds.latents import SCENES
from trex.worlds.looks import ladder

MAX_COMPARED = 100  # scenes compared; each id map costs milliseconds


def check_passes(records: Sequence[Record], vocabulary: Vocabulary, size: tuple[int, int]) -> str:
    """How the renderer's index pass agrees with the id map, by which objects have 200 pixels (at 480 x 320).

    Compares up to 100 scenes at the deciding look, evenly spread; `size` is its (width, height) in pixels.
    """
    rendered = [
        record for record in records if record.is_rendered and record.phase not in (BANK, CALIBRATION)
    ]
    picked = rendered[:: max(1, -(-len(rendered) // MAX_COMPARED))]
    scale = WIDTH_PX * HEIGHT_PX / (size[0] * size[1])
    by_pass = np.array([count * scale for record in picked for count in record.visible])
    by_map = np.array([count for record in picked for count in visible_pixels(record.scene, vocabulary)])
    if not by_pass.size:
        return "No picture to compare the id map with."
    difference = float(np.median(np.abs(by_pass - by_map) / by_map))
    return (
        f"Visible pixels, id map against the renderer's index pass, on {len(picked)} scenes with "
        f"{by_pass.size} objects: {np.sum(by_pass < MIN_PIXELS)} decisions differ (the pass sees fewer than "
        f"{MIN_PIXELS} pixels); the counts differ by {percent(difference)} in the median."
    )


def renderer_checks(manifest: Manifest, records: Sequence[Record]) -> tuple[str, ...]:
    """Checks of the renderer against the draws, as sentences; none in a world without objects."""
    if manifest.world.form is not SCENES:
        return ()
    return (check_passes(records, manifest.vocabulary, manifest.facts.size),)


def spread_remarks(manifest: Manifest, sample: PriorSample) -> tuple[str, ...]:
    """One sentence if scenes spread evenly would halve the rate's upper end but cost too much unasked; else empty.

    The upper end is that of the same hits if none of the further scenes hits, which is the best that they can show.
    """
    query, target, selection = manifest.query, manifest.target, sample.selection
    m = min(ON_CPU, query.search.bank or 0)
    if manifest.facts.spread != 0 or not ladder(query.render) or not m:
        return ()
    seconds = spread_s(query, m)
    hits = np.array([float(target.is_hit(draw.state.log_probs)) for draw in sample.draws])
    wider = with_spread(selection, (), spread_share(m, selection.n))
    now, then = (estimate(each, hits, sample.how_often.level).interval.high for each in (selection, wider))
    if seconds is None or then > now / 2:
        return ()
    return (
        f"The rate may be as high as {percent(now)}. With {m} scenes of the bank spread evenly it would end at "
        f"{percent(then)} if none of them hits; they take {rough_span(seconds)} on two cores: "
        f"{manifest.command} --set search.spread={m}",
    )


def no_answer_remarks(manifest: Manifest, records: Sequence[Record]) -> tuple[str, ...]:
    """One sentence if more than half of the probability on random scenes is no answer; else empty."""
    labels = manifest.facts.labels
    rows = [record.log_probs for record in records if record.phase == PRIOR and record.log_probs]
    if UNPARSED not in labels or not rows:
        return ()
    share = float(np.exp([row[labels.index(UNPARSED)] for row in rows]).mean())
    if share <= MOST:
        return ()
    return (
        f"The model seldom answers: on random scenes {percent(share)} of the probability is {UNPARSED}, so what is "
        "said here of its answers rests on the rest. Let it reply with one word: change [model] prompt, and switch off "
        "thinking.",
    )
