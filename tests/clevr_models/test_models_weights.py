"""Weights files that are missing, cut, changed, of another model, or hold code; and models fetched from a folder."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.references.relation_reference import random_state
from tests.serving.http_server import served_folder
from trex.artifacts.card import card_path, read_card, sha256_of
from trex.artifacts.weights import load_into, read_foreign, read_safetensors, write_safetensors
from trex.clevr_models import fetch
from trex.clevr_models.catalog import load_model
from trex.clevr_models.fetch import Release, fetch_relation_network, list_models, relation_path, verify_model
from trex.clevr_models.relation_network.network import RelationNetwork
from trex.foundation.errors import InputError, ModelError, RunError


class Malicious:
    """Runs a shell command when it is unpickled without care."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (os.system, (self.command,))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    write_safetensors(path, nn.Linear(3, 2).state_dict(), {"name": "small"})
    return path


def test_what_is_written_is_read(saved: Path) -> None:
    state = read_safetensors(saved)
    assert {name: tuple(tensor.shape) for name, tensor in state.items()} == {"weight": (2, 3), "bias": (2,)}
    assert read_card(saved)["name"] == "small" and read_card(saved)["sha256"] == sha256_of(saved.read_bytes())
    assert not list(saved.parent.glob("*.part"))


def test_a_write_that_the_disk_refuses_leaves_nothing_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"model\.safetensors cannot be written"):
        write_safetensors(tmp_path / "file" / "model.safetensors", nn.Linear(3, 2).state_dict(), {})
    (tmp_path / "model.safetensors").mkdir()
    with pytest.raises(RunError, match="free some space or choose another folder"):
        write_safetensors(tmp_path / "model.safetensors", nn.Linear(3, 2).state_dict(), {})
    assert not list(tmp_path.glob("*.part"))


def test_a_missing_file_or_card_is_named(saved: Path) -> None:
    with pytest.raises(InputError, match=r"weights .*other\.safetensors is missing"):
        read_safetensors(saved.with_name("other.safetensors"))
    card_path(saved).unlink()
    with pytest.raises(InputError, match=r"card .*model\.json is missing"):
        read_safetensors(saved)


@pytest.mark.parametrize("kept", [0, 5, 60, -1])
def test_a_truncated_file_is_noticed(saved: Path, kept: int) -> None:
    saved.write_bytes(saved.read_bytes()[:kept])
    with pytest.raises(InputError, match=r"truncated|cut"):
        read_safetensors(saved)


def test_one_changed_bit_is_noticed(saved: Path) -> None:
    data = bytearray(saved.read_bytes())
    data[-1] ^= 1
    saved.write_bytes(data)
    with pytest.raises(InputError, match="changed or cut: its sha256 is"):
        read_safetensors(saved)


@pytest.mark.parametrize("card", ["{", "[]", '{"name": "small"}', '{"sha256": 5}'])
def test_a_card_without_a_sha256_is_refused(saved: Path, card: str) -> None:
    card_path(saved).write_text(card)
    with pytest.raises(InputError, match="card"):
        read_safetensors(saved)


@pytest.mark.parametrize("form", ["zip", "legacy", "bare pickle"])
def test_a_checkpoint_with_code_in_it_is_refused_and_the_code_never_runs(tmp_path: Path, form: str) -> None:
    path, mark = tmp_path / "evil.pth", tmp_path / "executed"
    payload = {"weight": torch.zeros(2), "bias": Malicious(f"touch {mark}")}
    if form == "bare pickle":
        path.write_bytes(pickle.dumps(payload, protocol=2))
    else:
        torch.save(payload, path, _use_new_zipfile_serialization=form == "zip")
    with pytest.raises(InputError, match="nothing in it was executed"):
        read_foreign(path)
    assert not mark.exists()
    with path.open("rb") as stream:  # planted: the same file does run its code where it is read without care
        if form == "bare pickle":
            pickle.load(stream)
        else:
            torch.load(stream, weights_only=False)
    assert mark.exists()


@pytest.mark.parametrize("legacy", [True, False])
@pytest.mark.parametrize("kept", [0, 1, 20, 200, -10])
def test_a_cut_checkpoint_is_noticed(tmp_path: Path, legacy: bool, kept: int) -> None:
    buffer = io.BytesIO()
    torch.save({"weight": torch.zeros(50, 50)}, buffer, _use_new_zipfile_serialization=not legacy)
    path = tmp_path / "cut.pth"
    path.write_bytes(buffer.getvalue()[:kept])
    with pytest.raises(InputError, match=r"damaged"):
        read_foreign(path)


def test_a_checkpoint_that_is_no_state_dict_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "list.pth"
    torch.save([torch.zeros(1)], path)
    with pytest.raises(InputError, match="holds a list, not a state dict"):
        read_foreign(path)
    torch.save({"module.weight": torch.zeros(1)}, path)
    assert list(read_foreign(path)) == ["weight"]


def test_weights_of_another_model_are_refused_by_name_and_shape() -> None:
    state = nn.Linear(3, 2).state_dict()
    with pytest.raises(InputError, match=r"weight is \(2, 3\) and must be \(2, 4\)"):
        load_into(nn.Linear(4, 2), state, Path("x"))
    with pytest.raises(InputError, match="left over bias"):
        load_into(nn.Linear(3, 2, bias=False), state, Path("x"))
    with pytest.raises(InputError, match="missing bias"):
        load_into(nn.Linear(3, 2), {"weight": state["weight"]}, Path("x"))
    with pytest.raises(InputError, match="and 40 more"):
        load_into(RelationNetwork("ir"), {}, Path("x"))


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder laid out as the public repository, with made-up weights in its format; the pinned sha256 are theirs."""
    folder = tmp_path / "repository" / "commit" / "pretrained_models"
    folder.mkdir(parents=True)
    releases = {}
    for variant, release in fetch.RELEASES.items():
        path = folder / release.file
        torch.save(
            {f"module.{k}": v for k, v in random_state(variant).items()},
            path,
            _use_new_zipfile_serialization=False,
        )
        releases[variant] = Release(release.file, "commit", sha256_of(path.read_bytes()))
    monkeypatch.setattr(fetch, "RELEASES", releases)
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    with served_folder(tmp_path / "repository") as address:
        monkeypatch.setattr(fetch, "RAW", address)
        yield folder


@pytest.mark.parametrize("by_hand", [True, False])
def test_a_fetched_model_is_kept_as_safetensors_and_loads(published: Path, by_hand: bool) -> None:
    paths = fetch_relation_network(published if by_hand else None)
    assert [path.name for path in paths] == [
        "relation-network-ir.safetensors",
        "relation-network-original.safetensors",
    ]
    assert sorted(os.listdir(paths[0].parent)) == sorted(
        p.name for path in paths for p in (path, card_path(path))
    )
    assert [(name, there) for name, _, there in list_models()] == [
        ("relation-network:ir", True),
        ("relation-network:original", True),
    ]
    assert verify_model("relation-network:ir") == paths[0]
    assert load_model("relation-network").name == "relation-network:ir"
    assert load_model("relation-network:original").name == "relation-network:original"


def test_a_model_that_was_not_fetched_says_how_to(published: Path) -> None:
    with pytest.raises(InputError, match="trex models fetch relation-network"):
        load_model("relation-network")


def test_a_file_that_is_not_the_published_one_is_not_kept(published: Path) -> None:
    path = published / fetch.RELEASES["ir"].file
    path.write_bytes(path.read_bytes() + b"x")
    for source in (published, None):
        with pytest.raises(InputError, match="sha256"):
            fetch_relation_network(source)
    assert not relation_path("ir").exists()


def test_a_network_that_fails_says_how_to_go_on(published: Path) -> None:
    (published / fetch.RELEASES["ir"].file).unlink()
    with pytest.raises(ModelError, match="--from FOLDER"):
        fetch_relation_network()
    with pytest.raises(InputError, match="is missing"):
        fetch_relation_network(published)


def test_one_published_file_gives_its_variant_and_any_other_file_is_named_as_it_was_given(
    published: Path, tmp_path: Path
) -> None:
    path = published / fetch.RELEASES["original"].file
    assert [p.name for p in fetch_relation_network(path)] == ["relation-network-original.safetensors"]
    renamed = path.rename(tmp_path / "renamed")
    assert [p.name for p in fetch_relation_network(renamed)] == ["relation-network-original.safetensors"]
    other = tmp_path / "other.pth"
    other.write_bytes(b"something else")
    with pytest.raises(
        InputError, match=rf"^{other} is not a published Relation Network.*ir_fp_epoch_312\.pth"
    ):
        fetch_relation_network(other)


def test_a_tampered_copy_in_the_cache_is_noticed(published: Path) -> None:
    path, other = fetch_relation_network(published)
    path.write_bytes(path.read_bytes()[:-4] + b"abcd")
    with pytest.raises(InputError, match="changed or cut"):
        load_model("relation-network:ir")
    write_safetensors(other, random_state("original", seed=9), {"name": "mine"})
    with pytest.raises(InputError, match="a source other than"):
        load_model("relation-network:original")
