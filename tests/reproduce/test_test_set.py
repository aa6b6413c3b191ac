"""An experiment's queries counted on a data set's labelled pictures, and experiments that others wrote."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reproduce.experiments.experiment import run_experiment
from reproduce.experiments.page import write_page
from reproduce.experiments.test_set import write_with_earlier_marks
from tests.reproduce.command_line import reproduce
from tests.running.command_line import refused
from tests.running.runs import QUERY as SCENES
from tests.serving.marking import stored
from tests.worlds.mnist_worlds import N_TEST, bars, write_data
from tests.worlds.repair_toy import tree
from trex.foundation.errors import RunError
from trex.labelling.polls import marking
from trex.labelling.votes import Vote, VoteLog
from trex.mnist_models.load import load_classifier
from trex.search.progress import Silent
from trex.trials.baseline.baseline import MarkCounts

QUERY = """
answer = "7"

[generator]
name = "mnist-vae"

[target]
kind = "threshold"
"""
EXPERIMENT = """
title = "Digits"
source = "nobody"
form = "matrix"
query = "query.toml"
pairs = ["1", "7"]
cells = [{ name = "sure", set = { "target.kind" = "threshold", "target.threshold" = 0.5, "answer" = "CLASS" } }]

[set]
"target.kind" = "ambiguous"
"search.prior_scenes" = 12
"search.steps" = 0
"""


def test_an_experiment_stands_beside_the_test_set(tmp_path: Path) -> None:
    folder = write_data(tmp_path / "data")
    images, _ = bars(N_TEST, 2)
    probs = np.exp(
        load_classifier("mnist-classifier").log_probs((images[:, :, :, None] / 255.0).astype(np.float32))
    )
    common = int(np.bincount(probs.argmax(axis=1)[probs.max(axis=1) > 0.5]).argmax())
    (tmp_path / "query.toml").write_text(QUERY, "utf-8")
    (tmp_path / "pairs.toml").write_text(EXPERIMENT.replace("CLASS", str(common)), "utf-8")
    outcome = run_experiment(
        str(tmp_path / "pairs.toml"),
        (),
        (),
        tmp_path / "out",
        lambda _: Silent(),
        lambda *_: None,
        lambda _: None,
        folder,
    )
    sure, torn = outcome.results
    assert sure.test_set is not None and torn.test_set is not None
    assert sure.test_set.hits.count == (probs[:, common] >= 0.5).sum() > 0
    assert torn.test_set.examined == N_TEST
    write_page(outcome, ())
    html = (tmp_path / "out" / "experiment.html").read_text("utf-8")
    assert "The same in the test set" in html
    assert f"{sure.test_set.hits.count} of {N_TEST}, {sure.test_set.mistakes.count}" in html
    assert f"--dataset {folder}" in html


FOREIGN = 'title = "t"\nsource = "s"\nquery = "q.toml"\ncells = [{ name = "one"SET }]\n'


@pytest.mark.parametrize("is_cell", [True, False], ids=["a cell", "the query"])
def test_the_code_that_an_experiment_names_is_imported_only_after_trust(
    is_cell: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TREX_TRUST")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    marker = tmp_path / "marker"
    Path("of_another.py").write_text(
        f"from pathlib import Path\nPath({str(marker)!r}).write_text('imported')\nraise ValueError('did what it likes')"
    )
    named = SCENES.replace('name = "fake"', 'name = "of_another:make"')
    Path("q.toml").write_text(SCENES if is_cell else named)
    chosen = ', set = { "model.name" = "of_another:make" }' if is_cell else ""
    Path("e.toml").write_text(FOREIGN.replace("SET", chosen))
    refused(reproduce("experiment", "e.toml"), "runs the code of model 'of_another:make'", "--trust")
    assert not marker.exists()
    assert reproduce("experiment", "e.toml", "--trust").exit_code == 2  # the module raises
    assert marker.exists()


def test_marks_outlive_a_new_count_of_the_same_mistakes_and_no_other(tmp_path: Path) -> None:
    counted = stored(tmp_path / "b")
    with marking(counted.folder) as found:
        log = VoteLog(found.place, found.shown)
        for picture, label in zip(found.shown.pictures, ("mislabelled", "mistake"), strict=True):
            log.append(Vote(annotator="Ada", picture=picture, label=label))
        log.close()
    assert counted.baselines[0].marks == MarkCounts(0, 0, 0, 2)
    assert write_with_earlier_marks(counted).baselines[0].marks == MarkCounts(1, 1, 0, 0)
    before, (first, *others) = tree(counted.folder), counted.baselines
    changed = replace(first, seen=(replace(first.seen[0], truth="2"), *first.seen[1:]))
    with pytest.raises(RunError, match="votes on other pictures: this baseline was changed"):
        write_with_earlier_marks(counted.with_baselines([changed, *others]))
    assert tree(counted.folder) == before  # the marked baseline is not replaced by one that is refused
