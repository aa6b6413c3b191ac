"""What tunes a model, what chooses its weight and what tests it are different pictures, and origins are kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.trex.repair.test_label import begun
from tests.worlds.repair_toy import toy, toy_query
from trex.repair.decoders.bench import Set, bench_of
from trex.repair.decoders.identify import HELD, read_mistakes
from trex.repair.decoders.loaded import Stream, pictures_of, validation_rows
from trex.repair.results import CHOOSE, FRESH, GROWN, VALIDATION, Scenario


def rows_of(pictures: Set) -> set[bytes]:
    return {picture.tobytes() for picture in pictures.pictures}


def test_what_tunes_chooses_and_tests_are_other_pictures(tmp_path: Path) -> None:
    """Planted bugs: the weight chosen on the fresh draws that test it; those that test were tuned on; held-out
    mistakes grown from training pictures; each of these its own origin.
    """
    loaded = toy()
    with begun(tmp_path / "r", loaded, identify={"draws": 6}) as folder:
        bench = bench_of(folder, loaded, [Scenario(number=0, label="right")])
        judged, tuned = bench.judged, [bench.drawn(Stream.TUNE, seed) for seed in range(3)]
        held = read_mistakes(folder.require("identify") / HELD)
    drawn = [judged[FRESH], judged[CHOOSE], *tuned]
    assert len(set.union(*map(rows_of, drawn))) == sum(len(item.labels) for item in drawn)
    learning, judging = validation_rows(toy_query(), loaded.train)
    assert set(bench.rows.tolist()) <= set(learning.tolist()) and not set(learning.tolist()) & set(
        judging.tolist()
    )
    assert np.array_equal(judged[VALIDATION].pictures, pictures_of(loaded.train, judging))
    origins = judged[GROWN].origins
    assert origins is not None and 1 < len(set(origins.tolist())) < len(origins)
    codes = loaded.generator.encode(judged[GROWN].pictures).mean
    near = loaded.generator.encode(pictures_of(loaded.test, origins)).mean
    assert np.abs(codes - near).max() < 1.5, "grown from other pictures than these"
    assert set(origins.tolist()) <= set(held.rows.tolist())
