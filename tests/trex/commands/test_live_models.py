"""A model that is an object of the session: asked as by its name, told by its weights, and kept by Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import trex
from tests.running import command_line, digit_runs
from tests.running.runs import draws
from tests.worlds.live_models import NAMED, Blueness, Redness, Scaled, uniform
from trex.clevr_models.adapters.live import as_session_model, session_model_available
from trex.clevr_models.interface.question import Question
from trex.foundation.own_code import code_hash
from trex.runs.trust import named_code
from trex.worlds.fingerprint import weights_fingerprint
from trex.worlds.world import open_model

ASKED: dict[str, Any] = {
    "question": "How many red things are there?",
    "answer": "2",
    "target": "threshold",
    "threshold": 0.5,
    "preset": "fake",
    "prior_scenes": 16,
    "chains": 2,
}


def find(folder: Path, model: object, steps: int = 10) -> trex.Run:
    keywords: dict[str, Any] = {**ASKED, "model": model, "steps": steps}
    return trex.find(out=folder, progress=False, **keywords)


def test_an_object_gives_the_draws_of_the_same_module_by_its_name(tmp_path: Path) -> None:
    by_name = find(tmp_path / "name", NAMED)
    by_object = find(tmp_path / "object", Redness())
    assert draws(by_object.path) == draws(by_name.path)
    assert len(by_name.draws_frame().answer.unique()) > 1, "the module answers alike everywhere"
    hashes = [run.manifest.made.model.split()[1] for run in (by_name, by_object)]
    assert hashes[0] == hashes[1]
    assert by_object.query.model.name == "live:tests.worlds.live_models.Redness"


def test_asking_a_module_leaves_it_and_torch_as_they_were(tmp_path: Path) -> None:
    module = torch.nn.Sequential(Redness(), torch.nn.Dropout(0.0)).train()
    module[1].eval()
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        find(tmp_path / "run", module)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    assert [part.training for part in module.modules()] == [True, True, False]


def changed_weights() -> Redness:
    module = Redness()
    with torch.no_grad():
        module.weight[0, 0] += 0.01
    return module


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (Redness(), changed_weights(), "the model was live:.*Redness .*, now it is live:.*Redness "),
        (Redness(), Blueness(), "was made with model 'live:.*Redness', not 'live:.*Blueness'"),
        (Redness(), "fake", "was made with model 'live:.*Redness', not 'fake'"),
        (Scaled(0.5), Scaled(0.9), "now gives other answers to its probe pictures"),
    ],
)
def test_another_model_does_not_resume(before: object, after: object, message: str, tmp_path: Path) -> None:
    run = find(tmp_path / "run", before, steps=4)
    with pytest.raises(trex.RunError, match=message):
        trex.open_run(run.path).resume(after, progress=False)


CELL = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(60.0 * torch.eye(3, 28))

    def forward(self, images):
        return self.features(images) @ self.weight

    def features(self, images):
        return images.mean(dim=(2, 3)){edit}
"""


def net(edit: str) -> torch.nn.Module:
    """What a notebook's cell makes."""
    cell: dict[str, Any] = {"__name__": "notebook"}
    exec(CELL.format(edit=edit), cell)
    module: torch.nn.Module = cell["Net"]()
    return module


def test_equal_weights_in_a_cell_that_was_edited_do_not_resume(tmp_path: Path) -> None:
    run = find(tmp_path / "run", net(""), steps=4)
    trex.open_run(run.path).resume(net("  # a comment"), progress=False)
    with pytest.raises(trex.RunError, match="its draws would now get other scores: the model was"):
        trex.open_run(run.path).resume(net(".square()"), progress=False)


def test_an_equal_model_resumes_by_open_run_and_by_the_same_find(tmp_path: Path) -> None:
    whole = find(tmp_path / "whole", Redness())
    part = find(tmp_path / "part", Redness())
    lines = draws(whole.path).splitlines(keepends=True)
    for again in (lambda path: find(path, Redness()), resumed):
        cut(part.path, 20)
        assert draws(part.path).splitlines(keepends=True) == lines[:20]
        assert draws(again(part.path).path).splitlines(keepends=True) == lines


def resumed(path: Path) -> trex.Run:
    return trex.open_run(path).resume(Redness(), progress=False)


def cut(path: Path, n: int) -> None:
    """As if the search had been killed after n draws: whole lines, and checksums of them."""
    (path / "finished").unlink(missing_ok=True)
    for log in path.glob("draws*"):
        log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:n]))


def test_the_command_line_cannot_have_the_object_and_says_so(tmp_path: Path) -> None:
    run = find(tmp_path / "run", Redness(), steps=4)
    assert named_code(run.query) == ()  # no code would be loaded, so no trust is asked for
    for words in (["resume", run.path], ["find", run.path / "query.toml"], ["explain", run.path]):
        result = command_line.trex(*words)
        assert result.exit_code == 2, words
        if words[0] != "explain" or run.hits:
            assert "is an object of a Python session" in result.stderr
            assert result.stderr.count("\n") == 1
    assert command_line.trex("report", run.path).exit_code == 0


def test_a_loan_ends_with_its_block() -> None:
    model = as_session_model(Redness())
    question = Question("Are there any cubes?", ())
    from trex.worlds.world import open_model

    with session_model_available(model):
        assert open_model(model.name).bind(question).labels
        with (
            session_model_available(as_session_model(uniform)),
            pytest.raises(trex.InputError, match="object of a Python session"),
        ):
            open_model(model.name)
        open_model(model.name)
    with pytest.raises(trex.InputError, match="object of a Python session"):
        open_model(model.name)


def test_the_code_of_a_callable_is_told_from_other_code() -> None:
    def twice(pictures: object, question: object) -> object:
        return {"cube", "cone"} and pictures  # a comment

    def same(pictures: object, question: object) -> object:
        return {"cube", "cone"} and pictures

    def other(pictures: object, question: object) -> object:
        return {"cube", "ball"} and pictures

    assert code_hash(twice) == code_hash(same) != code_hash(other)
    assert code_hash(Scaled(0.1)) == code_hash(Scaled(0.9)) != ""
    assert code_hash(max) == ""  # not print, which Ray replaces


class Impatient:
    """As `uniform`, until a real signal comes at this call."""

    def __init__(self, stop_at: int) -> None:
        self.calls, self.stop_at = 0, stop_at

    def __call__(self, pictures: NDArray[np.float32], question: Question) -> NDArray[np.float64]:
        self.calls += 1
        if self.calls == self.stop_at:
            signal.raise_signal(signal.SIGINT)
        return uniform(pictures, question)


@pytest.mark.usefixtures("heeds_ctrl_c")
def test_ctrl_c_keeps_every_draw_and_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    whole = find(tmp_path / "whole", Impatient(-1))
    model = Impatient(stop_at=25)
    with pytest.raises(
        trex.Stopped, match=r"kept. Resume: trex\.open_run\(.*run\", model=model\)\.resume"
    ) as caught:
        find(Path("run"), model)
    assert isinstance(caught.value, KeyboardInterrupt) and caught.value.path == tmp_path / "run"
    run = trex.open_run(tmp_path / "run")
    n = len(run.records)
    assert 0 < n < len(whole.records) and not run.is_finished
    assert run.rate.of == 16 and run.hits == () and "(not finished)" in run._repr_html_()
    assert draws(run.path) == b"".join(draws(whole.path).splitlines(keepends=True)[:n])
    assert draws(run.resume(model, progress=False).path) == draws(whole.path)
    assert trex.open_run(run.path).is_finished


@pytest.mark.usefixtures("heeds_ctrl_c")
@pytest.mark.parametrize(("stop_at", "is_begun"), [(1, False), (2, True)])
def test_ctrl_c_before_the_first_draw(stop_at: int, is_begun: bool, tmp_path: Path) -> None:
    with pytest.raises(trex.Stopped) as caught:
        find(tmp_path / "run", Impatient(stop_at))
    assert caught.value.path == (tmp_path / "run" if is_begun else None)
    if is_begun:
        run = trex.open_run(tmp_path / "run")
        with pytest.raises(trex.RunError, match="has no draws yet"):
            _ = run.hits
        assert "has no draws yet" in run._repr_html_()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (torch.nn.Identity(), r"must return float logits \(2, 28\)"),
        (lambda pictures: pictures, "fails on a probe picture: TypeError"),
        (lambda pictures, question: pictures, "must give numbers"),
        (lambda pictures, question: {"0": 1.0}, "gives a dict; for 2 pictures"),
    ],
)
def test_an_object_that_does_not_fit_is_refused_before_anything_is_written(
    model: Callable[..., object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(trex.InputError, match=message):
        find(tmp_path / "run", model)
    assert list(tmp_path.iterdir()) == []


def test_a_digit_classifier_may_be_an_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trex.mnist_models.load import load_classifier

    digit_runs.save_models(tmp_path / "cache", monkeypatch)
    by_name = digit_runs.search(tmp_path)
    query = tmp_path / "query.toml"
    module = load_classifier("mnist-classifier").module
    by_object = trex.find(query, model=module, out=tmp_path / "object", progress=False)
    assert draws(by_object.path) == draws(by_name.folder)
    assert all(hit.vector is not None and hit.scene is None for hit in by_object.hits)
    assert by_object.hits[0].picture.mode == "L" and by_object.hits[0].mask is None
    with pytest.raises(trex.InputError, match=r"worlds of mnist take a torch\.nn\.Module"):
        trex.find(query, model=uniform, out=tmp_path / "other", progress=False)
    with pytest.raises(trex.InputError, match=r"must return float logits \(2, 10\)"):
        trex.find(query, model=torch.nn.Flatten(), out=tmp_path / "other", progress=False)


@pytest.mark.slow
def test_an_audit_of_a_model_that_answers_otherwise_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    """Planted bug: a callable was known by its name alone, so that the findings of another one were returned."""

    def audit(model: object) -> trex.AuditResult:
        return trex.audit(
            model, preset="fake", confirm_preset="fake", scenes=4, held_out=4, questions=3, tested=1, probed=0,
            out=tmp_path / "audit", bank=tmp_path / "bank", progress=False,
        )  # fmt: skip

    first = audit(Scaled(0.95))
    assert audit(Scaled(0.95)).document() == first.document()
    with pytest.raises(trex.InputError, match="now gives other answers to its probe pictures"):
        audit(Scaled(0.2))


def test_the_code_of_a_module_is_part_of_its_fingerprint() -> None:
    """Planted bug: a changed `forward` with the same weights was the same model for an audit."""
    question = Question("How many red things are there?", ())
    kinds = []
    for module in (Redness(), Redness(), Blueness()):
        session = as_session_model(module)
        with session_model_available(session):
            kinds.append(weights_fingerprint("m", open_model(session.name).bind(question)))
    assert kinds[0] == kinds[1] != kinds[2]
