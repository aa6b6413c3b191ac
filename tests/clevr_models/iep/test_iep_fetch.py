"""Fetching, keeping and naming the released CLEVR models, on files and a server made here."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.references.iep_reference import (
    BASELINE_KWARGS,
    ENGINE_KWARGS,
    GENERATOR_KWARGS,
    as_bytes,
    baseline_shapes,
    checkpoint,
    engine_logits,
    engine_shapes,
    generator_shapes,
    random_state,
)
from tests.running.command_line import trex
from tests.running.runs import run
from tests.serving.http_server import Quiet, listening
from trex.artifacts.card import card_path, read_card, sha256_of
from trex.artifacts.download import FILE, check_recorded, download
from trex.clevr_models.catalog import load_model
from trex.clevr_models.iep import fetch as iep_fetch
from trex.clevr_models.iep.fetch import fetch_iep, fetch_resnet, list_iep, load_part, load_resnet, part_path
from trex.clevr_models.iep.resnet_features import ResNet
from trex.clevr_models.iep.vocabulary import IepVocabulary
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError, ModelError, RunError
from trex.scenes.questions.programs import Step

LSTM = checkpoint("baseline", BASELINE_KWARGS, random_state(baseline_shapes("LSTM")), baseline_type="LSTM")
GENERATOR = checkpoint(
    "program_generator",
    GENERATOR_KWARGS | {"wordvec_dim": 12, "hidden_dim": 8},
    random_state(generator_shapes(12, 8)),
)
CUBES = Question("How many cubes are there?", (Step("scene"), Step("count", (0,))))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A zip file as the released one, with a member that tries to leave its folder, and others."""
    path = tmp_path / "models.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("models/CLEVR/lstm.pt", as_bytes(LSTM))
        packed.writestr("../../program_generator_18k.pt", as_bytes(GENERATOR))
        packed.writestr("models/CLEVR/lstm.pt.json", "{}")
        packed.writestr("../../evil.pt", b"no")
    return path


def test_a_zip_file_is_taken_part_by_part(cache: Path, archive: Path) -> None:
    found = fetch_iep(archive)
    assert found == [part_path("lstm"), part_path("program_generator_18k")]
    names = {
        f"iep-{n}.{ending}" for n in ("lstm", "program_generator_18k") for ending in ("safetensors", "json")
    }
    assert {path.name for path in cache.iterdir()} == names | {FILE}
    assert not list(archive.parent.glob("*.pt"))  # nothing left its folder
    assert read_card(found[0])["source_sha256"] == sha256_of(as_bytes(LSTM))
    assert [name for name, _, there in list_iep() if there] == ["iep:program_generator_18k", "iep:lstm"]
    rows = load_model("iep:lstm").bind(CUBES).log_probs(torch.zeros(1, 40, 60, 3).numpy())
    assert rows.shape == (1, 32)


def test_a_folder_or_a_single_file_is_taken(cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "models" / "CLEVR" / "lstm.pt"
    path.parent.mkdir(parents=True)
    path.write_bytes(as_bytes(LSTM))
    assert fetch_iep(tmp_path / "models") == fetch_iep(path) == [part_path("lstm")]
    assert load_model(f"iep:{path}").name == f"iep:{path}"
    with pytest.raises(InputError, match="contains none of the released models"):
        fetch_iep(cache)
    other = path.rename(path.with_name("mine.pt"))
    with pytest.raises(InputError, match=r"released model 'mine' is not known.*trex models convert"):
        fetch_iep(other)


def test_the_first_file_is_recorded_and_every_later_one_checked(cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "lstm.pt"
    path.write_bytes(as_bytes(LSTM))
    fetch_iep(path)
    load_part("lstm")
    path.write_bytes(as_bytes(LSTM | {"model_t": 1}))
    with pytest.raises(InputError, match=r"lstm\.pt is not the file that was used first"):
        fetch_iep(path)
    from trex.clevr_models.iep.checkpoint import read_parts, write_part

    changed = random_state(baseline_shapes("LSTM"), seed=7)
    path.write_bytes(as_bytes(LSTM | {"baseline_state": changed}))
    write_part(part_path("lstm"), read_parts(path)[0])  # weights and card both exchanged
    with pytest.raises(InputError, match=r"iep-lstm\.safetensors is not the file that was used first"):
        load_model("iep:lstm")


def test_recorded_sums_that_cannot_be_read_are_not_forgotten(tmp_path: Path) -> None:
    for _ in range(2):
        check_recorded(tmp_path, "a", "1")
    for damaged in ("{", "[]", '{"a": 5}'):
        (tmp_path / FILE).write_text(damaged)
        with pytest.raises(InputError, match="correct it, or delete it"):
            check_recorded(tmp_path, "a", "1")


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "lstm.pt"
    path.write_bytes(as_bytes(LSTM))
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    check_recorded(tmp_path / "cache" / "models", "lstm.pt", sha256_of(path.read_bytes()))
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match="cannot be written: No space left on device"):
        fetch_iep(path)
    with pytest.raises(RunError, match="No space left on device"):
        check_recorded(tmp_path, "a", "1")
    assert not part_path("lstm").exists() and not (tmp_path / FILE).exists()
    monkeypatch.undo()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "file"))
    with pytest.raises((InputError, ModelError), match="Not a directory"):
        fetch_iep(path)


def test_a_damaged_or_hostile_zip_file_is_refused(
    cache: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iep_fetch, "LARGEST_BYTES", 1000)
    with pytest.raises(InputError, match=r"unpacks to \d+ bytes; it is not a released model"):
        fetch_iep(archive)
    monkeypatch.undo()
    monkeypatch.setenv("TREX_CACHE", str(cache.parent))
    data = bytearray(archive.read_bytes())
    data[len(data) // 3] ^= 255
    archive.write_bytes(data)
    with pytest.raises(InputError, match="is damaged"):
        fetch_iep(archive)
    assert not (cache / "iep-unpacked").exists()
    archive.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match="not known"):
        fetch_iep(archive)  # no zip file any more: taken for a single checkpoint of another name


def test_names_that_are_not_there_say_what_to_do(cache: Path) -> None:
    for spec, message in (
        ("iep:18k", "program_generator_18k is not in the cache .* run `trex models fetch iep`"),
        ("iep:19k", r"released model '19k' is not known .*did you mean"),
        ("iep:", "is not known"),
        ("iep:missing.pt", r"missing\.pt is missing"),
    ):
        with pytest.raises(InputError, match=message):
            load_model(spec)
    with pytest.raises(InputError, match="trex models fetch resnet101"):
        load_resnet()


def resnet_state() -> dict[str, torch.Tensor]:
    """torchvision's tensors with made-up values, without the counters that the file of 2017 lacks."""
    torch.manual_seed(3)
    state = ResNet(trunk=False).state_dict()
    return {name: tensor for name, tensor in state.items() if not name.endswith("tracked")}


@pytest.mark.slow
def test_resnet_is_taken_with_the_published_sha256_only(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "resnet101.pth"
    path.write_bytes(as_bytes(resnet_state()))
    with pytest.raises(InputError, match=r"not torchvision's IMAGENET1K_V1 file.* V2 among them"):
        fetch_resnet(path)
    assert not iep_fetch.resnet_path().exists()
    monkeypatch.setattr(iep_fetch, "RESNET_SHA256", (sha256_of(path.read_bytes())[:8],))
    found = fetch_resnet(path)
    network, state = load_resnet(), resnet_state()
    assert torch.equal(network.state_dict()["conv1.weight"], state["conv1.weight"]) and not network.training
    assert "layer4.0.conv1.weight" not in network.state_dict() and "BSD" in card_path(found).read_text()
    answer_with(network, tmp_path / "engine.pt")
    del state["fc.bias"]
    path.write_bytes(as_bytes(state))
    monkeypatch.setattr(iep_fetch, "RESNET_SHA256", (sha256_of(path.read_bytes())[:8],))
    with pytest.raises(InputError, match=r"missing fc\.bias"):
        fetch_resnet(path)


@pytest.mark.slow
def test_resnet_is_found_in_a_folder_and_an_empty_folder_is_named(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=rf"folder {tmp_path} has no published ResNet-101"):
        fetch_resnet(tmp_path)
    path = tmp_path / "resnet101-5d3b4d8f.pth"
    path.write_bytes(as_bytes(resnet_state()))
    monkeypatch.setattr(iep_fetch, "RESNET_SHA256", (sha256_of(path.read_bytes())[:8],))
    assert fetch_resnet(tmp_path) == iep_fetch.resnet_path()


def answer_with(network: ResNet, path: Path) -> None:
    """A whole model, from the picture to the answers: ResNet-101, then the engine, as the facts say."""
    sizes = {"module_dim": 8, "classifier_proj_dim": 6, "classifier_fc_layers": (16,)}
    state = random_state(engine_shapes(ENGINE_KWARGS | sizes), scale=3.0)
    path.write_bytes(as_bytes(checkpoint("execution_engine", ENGINE_KWARGS | sizes, state)))
    bound = load_model(f"iep:{path}").bind(CUBES)
    pictures = torch.rand(1, 3, 80, 120)
    rows = bound.log_probs(pictures.permute(0, 2, 3, 1).numpy())
    with torch.no_grad():
        logits = engine_logits(state, network(pictures), "count scene")
    wanted = logits.double().log_softmax(dim=1)[0, IepVocabulary().answers.index("3")]
    assert float(rows[0, bound.labels.index("3")]) == pytest.approx(float(wanted), abs=1e-4)


def test_a_query_is_put_to_a_released_model(cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "lstm.pt"
    path.write_bytes(as_bytes(LSTM))
    done = run(tmp_path, [f'model.name="iep:{path}"', "search.prior_scenes=3", "search.steps=2"])
    assert f"iep:{path}" in done.report.read_text()


CONTENT = bytes(range(256)) * 20_000  # 5 MB


class Server(Quiet):
    """Gives CONTENT, by ranges too; cuts an answer off after `cut` bytes."""

    cut: int | None = None
    etag = '"one"'
    content = CONTENT
    ranges: list[str] = []  # noqa: RUF012

    def answer(self) -> None:
        text = self.headers.get("Range", "")
        type(self).ranges.append(text)
        start = int(text[6:-1]) if text and self.headers.get("If-Range") == self.etag else 0
        if self.path == "/none":
            self.send_error(404)
            return
        self.send_response(206 if start else 200)
        body = self.content[start:]
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", self.etag)
        self.end_headers()
        self.wfile.write(body if self.cut is None else body[: self.cut])


@pytest.fixture
def server() -> Iterator[str]:
    Server.cut, Server.etag, Server.content, Server.ranges = None, '"one"', CONTENT, []
    with listening(Server) as address:
        yield f"{address}/models.zip"


def test_a_download_that_was_cut_off_goes_on(server: str, tmp_path: Path) -> None:
    path, seen = tmp_path / "models.zip", []
    Server.cut = 2_000_000
    with pytest.raises(
        ModelError, match="cut off after 2000000 of 5120000 bytes; run the same command again"
    ):
        download(server, path, "by hand")
    assert not path.exists()
    Server.cut = None
    download(server, path, "by hand", lambda _, done, total, *facts: seen.append((done, total)))
    assert path.read_bytes() == CONTENT and Server.ranges == ["", "bytes=2000000-"]
    assert seen[-1] == (5_120_000, 5_120_000) and seen[0][0] > 2_000_000
    assert [item.name for item in tmp_path.iterdir()] == ["models.zip"]


def test_a_file_that_changed_meanwhile_is_fetched_from_its_beginning(server: str, tmp_path: Path) -> None:
    path = tmp_path / "models.zip"
    Server.cut = 2_000_000
    with pytest.raises(ModelError):
        download(server, path, "by hand")
    Server.cut, Server.etag, Server.content = None, '"two"', CONTENT[::-1]
    download(server, path, "by hand")
    assert path.read_bytes() == CONTENT[::-1]  # a mixture of both would be a wrong file


def test_a_server_that_does_not_give_the_file_is_named(server: str, tmp_path: Path) -> None:
    with pytest.raises(
        ModelError, match=r"none was refused by the server \(404 Not Found\); take it by hand"
    ):
        download(server.replace("models.zip", "none"), tmp_path / "x", "take it by hand")
    with pytest.raises(ModelError, match="could not be fetched"):
        download("http://127.0.0.1:9/models.zip", tmp_path / "x", "take it by hand")


def test_the_released_models_come_from_their_address(
    cache: Path, archive: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Server.content = archive.read_bytes()
    monkeypatch.setattr(iep_fetch, "URL", server)
    result = trex("models", "fetch", "iep")
    assert result.exit_code == 0, result.output
    assert "iep-lstm.safetensors" in result.output and not (cache / "iep-models.zip").exists()
    assert trex("models", "verify", "iep:lstm").output == "iep:lstm: good\n"


def test_the_command_line_converts_and_refuses(cache: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "mine.pt", tmp_path / "mine.safetensors"
    path.write_bytes(as_bytes(LSTM))
    assert trex("models", "convert", path, out).output == f"baseline: {out}\n"
    assert load_model(f"iep:{out}").name == f"iep:{out}"
    again = trex("models", "convert", path, out)
    assert again.exit_code == 2 and "already exists" in again.output
    path.write_bytes(b"no checkpoint")
    assert trex("models", "convert", path, tmp_path / "x.safetensors").exit_code == 2
    assert trex("models", "verify", "iep:lstm").exit_code == 2
    assert "iep:execution_engine_18k  not fetched; run trex models fetch iep" in trex("models", "list").output
