"""Pictures and scenes that come from one are no independent evidence that a repair helps."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.trex.repair.test_label import begun
from tests.worlds.repair_toy import toy, toy_query
from trex.repair import loaded as streams
from trex.repair.correction.correct import _compared as compared_pictures
from trex.repair.correction.results import BEFORE, CHOOSE, FRESH, GROWN, TESTS, VALIDATION, Claim, Corrected
from trex.repair.correction.sets import Set, sources
from trex.repair.identify import HELD
from trex.repair.loaded import pictures_of, validation_rows
from trex.repair.mistakes import read_mistakes
from trex.repair.scenes import results as names
from trex.repair.scenes.correct import _compared as compared_scenes
from trex.repair.scenes.draws import Fresh
from trex.repair.scenes.judges import Judges, Shown
from trex.scenes.prior import ScenePrior

N = 40
BETTER, BEFORE_IT = np.ones(N, np.bool_), np.arange(N) >= N // 2  # better in the first half alone
SCENE = ScenePrior(n_objects=(3, 3)).sample(np.random.default_rng(1))


def judges(members: list[int]) -> Judges:
    drawn = [Fresh(SCENE, 0, member) for member in members]
    return Judges({names.GROWN: Shown(drawn, [])}, {}, {})


def test_scenes_that_grew_from_one_are_compared_as_one() -> None:
    """Planted bug: each a cluster of its own, 20 changes of one scene were 20 scenes that are read better."""
    right, other = {names.GROWN: BETTER}, {BEFORE: {names.GROWN: BEFORE_IT}}
    (apart,) = compared_scenes(0, right, other, judges(list(range(N))))
    (related,) = compared_scenes(0, right, other, judges([0] * 20 + [1] * 20))
    assert apart.low > 0 and apart.clusters == N
    assert related.low < 0 and related.clusters == 2


def test_pictures_that_grew_from_one_are_compared_as_one() -> None:
    """The same planted bug on digits."""

    def claim(origins: list[int]) -> Claim:
        pictures, labels = np.zeros((N, 2, 2)), np.zeros(N, np.int64)
        judged = {test: Set(pictures, labels, np.array(origins) if test == GROWN else None) for test in TESTS}
        rows = compared_pictures(
            0, dict.fromkeys(TESTS, BETTER), {BEFORE: dict.fromkeys(TESTS, BEFORE_IT)}, judged
        )
        return Claim(BEFORE, GROWN, tuple(one for one in rows if one.test == GROWN), 1)

    assert claim(list(range(N))).is_better
    assert not claim([0] * 20 + [1] * 20).is_better


def rows_of(pictures: Set) -> set[bytes]:
    return {one.tobytes() for one in pictures.pictures}


def test_what_tunes_chooses_and_tests_are_other_pictures(tmp_path: Path) -> None:
    """Planted bugs: the weight chosen on the fresh draws that test it; those that test were tuned on; held-out
    mistakes grown from training pictures; each of these its own origin.
    """
    loaded = toy()
    with begun(tmp_path / "r", loaded, identify={"draws": 6}) as folder:
        made = sources(folder, loaded, (Corrected(number=0, label="right"),))
        judged, tuned = made.judged(), [made.drawn(streams.TUNE, seed) for seed in range(3)]
        held = read_mistakes(folder.require("identify") / HELD)
    drawn = [judged[FRESH], judged[CHOOSE], *tuned]
    assert len(set.union(*map(rows_of, drawn))) == sum(len(one.labels) for one in drawn)
    learning, judging = validation_rows(toy_query(), loaded.train)
    assert set(made.rows.tolist()) <= set(learning.tolist()) and not set(learning.tolist()) & set(
        judging.tolist()
    )
    assert np.array_equal(judged[VALIDATION].pictures, pictures_of(loaded.train, judging))
    origins = judged[GROWN].origins
    assert origins is not None and 1 < len(set(origins.tolist())) < len(origins)
    codes = loaded.generator.encode(judged[GROWN].pictures).mean
    near = loaded.generator.encode(pictures_of(loaded.test, origins)).mean
    assert np.abs(codes - near).max() < 1.5, "grown from other pictures than these"
    assert set(origins.tolist()) <= set(held.rows.tolist())
