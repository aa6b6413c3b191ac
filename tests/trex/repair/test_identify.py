"""Step 1: which decodings are kept, under which noise, and that a kill changes nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from tests.trex.repair.test_label import begun
from tests.worlds.repair_toy import PLANTED, toy, toy_folder, toy_query, tree
from trex.foundation.errors import InputError, RunError
from trex.foundation.progress import silent
from trex.inference.repair.perturbation import NOISES, nearest_rows, perturbation
from trex.inference.rng import stream
from trex.repair.decoders.identify import GROWN, HELD, IdentifyResult, read_mistakes
from trex.repair.folder import open_repair
from trex.repair.steps import identify

ALPHA = 1e-5


def is_centred(noise: str) -> bool:
    """Whether the mean of 4,000 steps lies within its sampling error of 0, at ALPHA for five latents."""
    kind = next(text for text in NOISES if text == noise)
    steps = perturbation(kind, 50.0, None).draw(stream(1, 7), np.full(5, 0.1), 4000)
    bound = norm.isf(ALPHA / 10) * steps.std(axis=0) / np.sqrt(len(steps))
    return bool((np.abs(steps.mean(axis=0)) < bound).all())


def test_only_the_printed_noise_moves_every_code_to_one_side() -> None:
    assert is_centred("centred") and is_centred("posterior")
    assert not is_centred("printed")  # the published form, and the planted bug of a forgotten half


def test_each_kind_of_noise_has_its_own_spread() -> None:
    deviation = np.array([0.05, 0.4])
    spreads = {
        kind: perturbation(kind, 50.0, None).draw(stream(1, 8), deviation, 20_000).std(axis=0)
        for kind in NOISES
    }
    beta = 1 / np.sqrt(4 * 101)  # of Beta(50, 50)
    assert spreads["printed"] == pytest.approx([beta, beta], rel=0.04)
    assert spreads["centred"] == pytest.approx([4 * beta, 4 * beta], rel=0.04)
    assert spreads["posterior"] == pytest.approx(deviation, rel=0.04)


def test_over_the_cap_the_nearest_are_kept() -> None:
    steps = np.array([[3.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.5, 0.0]])
    assert nearest_rows(steps, np.array([0, 1, 2]), 2).tolist() == [1, 2]
    assert nearest_rows(steps, np.array([0, 3]), 2).tolist() == [0, 3]


def test_the_mistakes_of_a_planted_model_lie_where_it_was_made_wrong(tmp_path: Path) -> None:
    loaded = toy()
    with toy_folder(tmp_path / "r", loaded) as folder:
        identify(folder, loaded, silent)
        place = folder.require("identify")
        for name in (GROWN, HELD):
            found = read_mistakes(place / name)
            assert len(found.rows) > 50
            assert np.linalg.norm(found.codes - PLANTED, axis=1).max() < 1.5
            assert (found.labels == 1).all() and (found.answers == 0).all()
        result = folder.found("identify", IdentifyResult)
    assert result.kept == result.grown.wrong and result.grown.decodings == 600
    # the model is wrong there without any noise, too: none of these mistakes is due to it
    assert result.kept_new == 0 and result.seeds_plain_wrong == result.kept // 2


def test_a_sound_model_makes_no_mistake_until_the_noise_changes_the_class(tmp_path: Path) -> None:
    loaded = toy(height=0.0)
    with toy_folder(tmp_path / "r", loaded) as folder:
        identify(folder, loaded, silent)
        assert folder.found("identify", IdentifyResult).kept == 0
    wide = toy_query(identify={"scale": 40.0})
    with toy_folder(tmp_path / "wide", loaded, wide) as folder:
        identify(folder, loaded, silent)
        result = folder.found("identify", IdentifyResult)
    assert result.kept_new == result.kept > 0  # grown by the noise alone, and told apart


class Stopped(BaseException):
    """As a kill."""


@pytest.mark.parametrize("survived", range(0, 8, 2))
def test_stopped_between_two_parts_it_ends_in_the_same_bytes(tmp_path: Path, survived: int) -> None:
    loaded = toy()
    with toy_folder(tmp_path / "whole", loaded) as folder:
        identify(folder, loaded, silent)
    calls = []

    def stop(what: str, done: int, total: int) -> None:
        calls.append(what)
        if len(calls) > survived:
            raise Stopped

    with toy_folder(tmp_path / "cut", loaded) as folder, pytest.raises(Stopped):
        identify(folder, loaded, stop)
    with toy_folder(tmp_path / "cut", loaded) as folder:
        identify(folder, loaded, silent)
    assert tree(tmp_path / "cut") == tree(tmp_path / "whole")


def test_a_changed_setting_repeats_the_step_and_an_unchanged_one_does_not(tmp_path: Path) -> None:
    loaded, calls = toy(), []
    with toy_folder(tmp_path / "r", loaded) as folder:
        identify(folder, loaded, silent)
    with toy_folder(tmp_path / "r", loaded) as folder:
        identify(folder, loaded, lambda *_: calls.append(1))
    assert not calls
    with toy_folder(tmp_path / "r", loaded, toy_query(identify={"draws": 5})) as folder:
        assert not folder.is_done("identify")
        with pytest.raises(RunError, match=r"trex repair identify .*r/repair\.toml --out .*r$"):
            folder.require("identify")
        identify(folder, loaded, lambda *_: calls.append(1))
        assert folder.is_done("identify") and calls


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    loaded = toy()
    with toy_folder(tmp_path / "r", loaded) as folder:
        identify(folder, loaded, silent)
        path = folder.require("identify") / GROWN
        path.write_bytes(path.read_bytes()[:-1] + b"?")
        with pytest.raises(RunError, match="was changed or cut"):
            folder.require("identify")


@pytest.mark.parametrize("name", ["key.json", "done.json"])
def test_a_step_whose_record_is_cut_is_repeated_as_the_message_says(name: str, tmp_path: Path) -> None:
    loaded, place = toy(), tmp_path / "r" / "identify"
    with toy_folder(tmp_path / "r", loaded) as folder:
        identify(folder, loaded, silent)
        text = (place / name).read_text()
        (place / name).write_text(text[: len(text) // 2])
        with pytest.raises(
            RunError, match=rf"{name} is not JSON: .*; delete {place} and run: trex repair identify"
        ):
            identify(folder, loaded, silent)
        shutil.rmtree(place)
        identify(folder, loaded, silent)
        assert folder.is_done("identify")


def test_a_repair_whose_record_is_cut_says_how_to_begin_anew(tmp_path: Path) -> None:
    with toy_folder(tmp_path / "r", toy()):
        (tmp_path / "r" / "repair.json").write_text("{")
    for again in (lambda: open_repair(tmp_path / "r"), lambda: toy_folder(tmp_path / "r", toy())):
        with pytest.raises(
            RunError, match=r"begin anew: trex repair identify .*r/repair.toml --out ANOTHER_FOLDER"
        ):
            again()


def test_other_models_do_not_continue_a_repair_and_two_processes_do_not_share_it(tmp_path: Path) -> None:
    with toy_folder(tmp_path / "r", toy()), pytest.raises(RunError, match="another process"):
        toy_folder(tmp_path / "r", toy())
    with pytest.raises(InputError, match="other models or data"):
        toy_folder(tmp_path / "r", toy(height=3.0))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "repair.toml").write_text("seed = 77  # my own notes")
    with pytest.raises(InputError, match="holds no repair"):
        toy_folder(tmp_path / "mine", toy())
    assert "my own" in (tmp_path / "mine" / "repair.toml").read_text()
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "thesis.tex").write_text("")
    with pytest.raises(InputError, match="holds no repair"):
        toy_folder(tmp_path / "else", toy())
    with pytest.raises(InputError, match="trex repair identify"):
        open_repair(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("section", "keys", "text"),
    [
        ("identify", {"noise": "centered"}, "'printed', 'centred' or 'posterior'"),
        ("identify", {"drwas": 3}, "did you mean 'draws'"),
        ("correct", {"lambdas": [0.1, 1.0]}, "give 0"),
        ("correct", {"lambdas": [0.0, 1.0, 1.0]}, "every value once"),
        ("correct", {"lambdas": [0.0, -0.0]}, "every value once"),
        ("label", {"tau": 0.0}, "label.tau"),
    ],
)
def test_wrong_keys_are_named(section: str, keys: dict[str, object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        toy_query(**{section: keys})


def test_more_seeds_than_pictures_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    loaded = toy()
    with toy_folder(tmp_path / "r", loaded, toy_query(identify={"seeds": 441})) as folder:
        with pytest.raises(InputError, match="only 440"):
            identify(folder, loaded, silent)
        assert not (folder.path / "identify").exists()


def test_a_mistake_is_new_if_the_model_is_right_of_the_plain_reconstruction(tmp_path: Path) -> None:
    """Planted bug: those that need no noise were counted as new."""
    with begun(tmp_path / "r", toy(), identify={"scale": 40.0}) as folder:
        place = folder.require("identify")
        found, grown = (
            folder.found("identify", IdentifyResult),
            read_mistakes(place / GROWN),
        )
    new = int((~grown.plain_wrong).sum())
    assert 0 < new < len(grown.rows) and new != len(grown.rows) - new
    assert (found.grown.wrong, found.grown.wrong_new) == (len(grown.rows), new)
    assert (found.kept, found.kept_new) == (len(grown.rows), new)
