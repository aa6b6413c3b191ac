"""A bank's members are fixed by its seed; its pictures are made once, checked, and shared."""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.worlds.banks import SMALL, Telling, filled, picture_bytes, small_bank
from trex.bank.bank import bank_of
from trex.clevr_models.fake import fake
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError
from trex.foundation.files import DiskFullError
from trex.inference.scoring import Scorer
from trex.query.schema import RenderSection
from trex.render.picture import Picture
from trex.render.presets import preset_named
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.english import parse
from trex.scenes.scene import scene_id
from trex.scenes.vocabulary import CLEVR, CONE


def test_growth_never_changes_earlier_members(tmp_path: Path) -> None:
    with small_bank(tmp_path / "grown") as grown, small_bank(tmp_path / "whole") as whole:
        grown.render(5)
        early = grown.scenes(range(5))
        before = picture_bytes(grown.path)
        grown.render(37)
        assert grown.scenes(range(37)) == whole.scenes(range(37)) == [*early, *grown.scenes(range(5, 37))]
        assert whole.scenes([9, 2]) == [grown.scenes([9])[0], early[2]]
        after = picture_bytes(grown.path)
        assert before == {name: after[name] for name in before} and len(after) == 37
        assert (grown.count(), whole.count()) == (37, 0)


def test_what_is_stored_is_not_rendered_again(tmp_path: Path) -> None:
    filled(tmp_path, 20)
    inner = Telling()
    with small_bank(tmp_path, inner) as bank:
        message: list[tuple[int, int]] = []
        bank.render(20, lambda _, done, total, *facts: message.append((done, total)))
        assert (inner.rendered, message) == (0, [(16, 20), (20, 20)])
        bank.render(23)
        assert inner.rendered == bank.rendered_now == 3


def test_another_question_and_another_model_render_nothing(tmp_path: Path) -> None:
    filled(tmp_path, 12)
    inner = Telling()
    with small_bank(tmp_path, inner) as bank:
        scenes = bank.scenes(range(12))
        answers = []
        for text in ("How many red things are there?", "How many blue spheres are there?"):
            scored = Scorer(bank.renderer, fake().bind(Question(text, parse(text)))).score(scenes)
            answers.append(np.stack([item.log_probs for item in scored]))
        assert not np.array_equal(answers[0], answers[1])
        assert inner.rendered == 0
        bank.renderer.render(bank.scenes([12]))  # a missing one is rendered
        assert inner.rendered == 1 and bank.count() == 13


def test_a_damaged_picture_is_rendered_again_to_the_same_bytes(tmp_path: Path) -> None:
    path = filled(tmp_path, 6)
    good = picture_bytes(path)
    files = sorted(path.rglob("*.picture"))
    another_picture = files[5].read_bytes()
    for file, data in zip(files, (b"", b"no picture", another_picture[:-1], another_picture), strict=False):
        file.write_bytes(data)
    inner = Telling()
    with small_bank(tmp_path, inner) as bank:
        bank.render(6)
        assert inner.rendered == 4 and picture_bytes(path) == good


def test_seed_revoked_and_introduced_shapes_and_number_give_other_banks(tmp_path: Path) -> None:
    red = SMALL.vocabulary.revoke("red things")
    worlds = [
        (SMALL, 0),
        (SMALL, 1),
        (replace(SMALL, n_objects=(2, 2)), 0),
        (replace(SMALL, vocabulary=CLEVR), 0),
        (replace(SMALL, vocabulary=red), 0),
        (replace(SMALL, vocabulary=SMALL.vocabulary.introduce(CONE)), 0),
    ]
    inner = Telling()  # its key is the same for all: only the world differs
    banks = [small_bank(tmp_path, inner, prior, seed) for prior, seed in worlds]
    assert len({bank.path for bank in banks}) == len({bank.index.world_key for bank in banks}) == len(worlds)
    assert len({tuple(map(scene_id, bank.scenes(range(4)))) for bank in banks}) == len(worlds)
    assert [bank.index.world.words for bank in banks[1:5:3]] == [
        "1 to 2 objects, no cube",
        "1 to 2 objects, no cube, no red",
    ]


def test_the_same_world_in_other_words_is_the_same_bank(tmp_path: Path) -> None:
    other = ScenePrior(CLEVR.revoke("blocks").revoke("blue cubes"), (1, 2))
    assert small_bank(tmp_path).path == small_bank(tmp_path, prior=other).path


def test_another_mesh_of_a_shape_is_another_bank(tmp_path: Path) -> None:
    mesh = tmp_path / "cone.obj"
    vocabulary = CLEVR.introduce(replace(CONE, mesh=str(mesh)))
    found = []
    for text in ("v 0 0 1\n", "v 0 0 2\n"):
        mesh.write_text(text)
        found.append(small_bank(tmp_path, prior=replace(SMALL, vocabulary=vocabulary)).index.world_key)
    assert found[0] != found[1]


def test_another_look_is_another_store_with_the_same_scenes(tmp_path: Path) -> None:
    with small_bank(tmp_path) as bank, small_bank(tmp_path, Telling(width=90)) as other:
        bank.render(3)
        assert bank.path != other.path and bank.scenes(range(3)) == other.scenes(range(3))
        assert (bank.count(), other.count()) == (3, 0)
        assert other.renderer.render(other.scenes([0]))[0].mask.shape == (40, 90)


def test_scenes_that_another_program_has_drawn_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_bank(tmp_path) as reader, small_bank(tmp_path) as writer:
        drawn = writer.scenes(range(4))
        monkeypatch.setattr(ScenePrior, "sample", lambda *_: pytest.fail("it was drawn again"))
        assert reader.scenes(range(4)) == drawn


def test_a_full_disk_is_told_and_costs_nothing_that_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = filled(tmp_path, 16)
    with small_bank(tmp_path) as bank:
        with monkeypatch.context() as patch:
            patch.setattr("trex.render.cache.os.fsync", _full)
            with pytest.raises(
                DiskFullError, match=r"everything rendered before is kept.*trex cache prune-banks"
            ):
                bank.render(40)
        assert len(picture_bytes(path)) == bank.count() == 16
        bank.render(40)
        assert bank.count() == 40


def _full(_: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_pictures_go_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREX_BANK")
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    assert bank_of(SMALL, "fake").path.parent == tmp_path / "cache" / "banks"
    monkeypatch.setenv("TREX_BANK", str(tmp_path / "shared"))
    assert bank_of(SMALL, "fake").path.parent == tmp_path / "shared"
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="name another folder with --bank or TREX_BANK"):
        small_bank(tmp_path / "file")


@pytest.mark.parametrize("n", [0, -1, 10_000_001])
def test_an_impossible_number_of_scenes_is_refused(n: int, tmp_path: Path) -> None:
    with small_bank(tmp_path) as bank, pytest.raises(InputError, match="a bank holds 1 to 10,000,000"):
        bank.render(n)


def test_members_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with small_bank(tmp_path) as bank, pytest.raises(InputError, match="members 0 to 9,999,999"):
        bank.scenes([-1])
    with pytest.raises(InputError, match="seed -1"):
        small_bank(tmp_path, seed=-1)


def test_a_lost_index_is_written_anew_from_the_pictures(tmp_path: Path) -> None:
    path = filled(tmp_path, 21)
    whole = (path / "bank.json").read_bytes()
    for lost in (path / "bank.json", tmp_path / "scenes"):
        shutil.rmtree(lost) if lost.is_dir() else lost.unlink()
        with small_bank(tmp_path) as bank:
            assert bank.count() == 21
        assert (path / "bank.json").read_bytes() == whole


def test_pictures_have_the_scene_of_their_member(tmp_path: Path) -> None:
    with small_bank(tmp_path) as bank:
        bank.render(3)
        pictures: list[Picture] = bank.renderer.render(bank.scenes(range(3)))
        assert [picture.scene for picture in pictures] == [scene_id(z) for z in bank.scenes(range(3))]


OTHER = 45.0  # least mean error of a channel at the objects' pixels, 0-255, between two scenes


def rendered(look: str, folder: Path) -> list[Picture]:
    section = RenderSection(preset=look, device="cpu", processes=1)
    with bank_of(SMALL, section, folder) as bank:
        bank.render(2)
        assert (bank.rendered_now, bank.count()) == (2, 2)
    with bank_of(SMALL, section, folder) as bank:
        pictures = bank.renderer.render(bank.scenes(range(2)))
        assert bank.rendered_now == 0
        return pictures


@pytest.mark.slow
@pytest.mark.blender
@pytest.mark.process
@pytest.mark.parametrize(("cheap", "dear", "most"), [("sketch", "fast", 25), ("sharp", "reference", 10)])
def test_a_cheap_look_is_like_the_dear_one_of_its_size(
    cheap: str, dear: str, most: float, tmp_path: Path
) -> None:
    preset = preset_named(cheap)
    ones, others = rendered(cheap, tmp_path), rendered(dear, tmp_path)
    for picture, other in zip(ones, others, strict=True):
        assert picture.pixels.shape == (preset.height, preset.width, 3)
        assert picture.scene == other.scene and np.array_equal(picture.mask, other.mask)
        assert 0.0 < error(picture, other) < most
    assert error(ones[0], others[1]) > OTHER


def error(picture: Picture, other: Picture) -> float:
    """Mean absolute difference where either has an object."""
    where = (picture.mask > 0) | (other.mask > 0)
    return float(np.abs(picture.pixels[where].astype(float) - other.pixels[where]).mean())
