"""Fetches the released CLEVR models of Johnson et al. (2017), and their ResNet-101, into the user's cache."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from trex.artifacts.archives import open_zip, unpack_member
from trex.artifacts.card import read_card
from trex.artifacts.download import check_recorded, download
from trex.artifacts.weights import read_checkpoint, read_safetensors, write_safetensors
from trex.clevr_models.fetch import default_cache
from trex.clevr_models.iep.checkpoint import Part, fill, read_parts, write_part
from trex.clevr_models.iep.resnet_features import ResNet, trunk_state
from trex.foundation.errors import InputError, ModelError, unknown
from trex.foundation.files import open_regular
from trex.foundation.progress import Progress, silent

URL = "https://dl.fbaipublicfiles.com/clevr/iep/models.zip"  # 2017; gives no checksum
RESNET_URL = "https://download.pytorch.org/models/resnet101-63fe2227.pth"
# torchvision puts the first digits of the sha256 into a file's name. Both hold IMAGENET1K_V1; IMAGENET1K_V2 (cd907fc2)
# has the same tensors by name and shape, but the released CLEVR models were not trained on it.
RESNET_SHA256 = ("63fe2227", "5d3b4d8f")
RESNET = "resnet101"
# Generator and engine that were released together.
PAIRS: Mapping[str, tuple[str, str]] = {
    "9k": ("program_generator_9k", "execution_engine_9k"),
    "18k": ("program_generator_18k", "execution_engine_18k"),
    "700k": ("program_generator_700k", "execution_engine_700k_strong"),
}
PARTS = (
    *(generator for generator, _ in PAIRS.values()),
    *(engine for _, engine in PAIRS.values()),
    "lstm",
    "cnn_lstm",
    "cnn_lstm_sa",
    "cnn_lstm_sa_mlp",
    "human_program_generator",
)
LARGEST_BYTES = 2**30  # of one checkpoint


def part_path(name: str) -> Path:
    """The path of a converted part in the cache, whether it exists or not."""
    return default_cache() / f"iep-{name}.safetensors"


def resnet_path() -> Path:
    """The path of the converted ResNet-101 in the cache, whether it exists or not."""
    return default_cache() / f"{RESNET}.safetensors"


def fetch_iep(source: Path | None = None, progress: Progress = silent) -> list[Path]:
    """Fetch the released parts: from their address (about 1 GB), models.zip, a folder, or one file.

    Raises InputError if a file is not a released part, or differs from the one used first.
    """
    target = default_cache()
    downloaded = target / "iep-models.zip"
    if source is None:
        by_hand = f"download {URL} elsewhere, then `trex models fetch iep --from models.zip`"
        source = download(URL, downloaded, by_hand, progress)
    with _writing(target), _checkpoints(source, target) as files:
        found = [_take(path, target) for path in files]
    if not found:
        raise InputError(f"{source} contains none of the released models ({', '.join(PARTS)}, each .pt)")
    downloaded.unlink(missing_ok=True)
    return found


def _take(path: Path, cache: Path) -> Path:
    if path.stem not in PARTS:
        raise unknown("released model", path.stem, PARTS, "`trex models convert` takes a file of any name.")
    (part, *others) = read_parts(path)
    if others:
        raise InputError(f"{path} holds {1 + len(others)} parts; a released file has one")
    check_recorded(cache, path.name, str(part.card["source_sha256"]))
    target = part_path(path.stem)
    write_part(target, part)
    return target


@contextmanager
def _writing(cache: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ModelError(
            f"cannot write to {cache}: {error.strerror or error}; free some space, or set TREX_CACHE"
        ) from error


@contextmanager
def _checkpoints(source: Path, cache: Path) -> Iterator[Iterator[Path]]:
    """The released checkpoints of a folder, a zip file or a single file, one at a time."""
    if source.is_dir():
        yield iter(sorted(path for path in source.rglob("*.pt") if path.stem in PARTS))
    elif source.suffix == ".zip" and _is_zip(source):
        folder = cache / "iep-unpacked"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            yield _unpacked(source, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    else:
        yield iter([source])


def _is_zip(source: Path) -> bool:
    with open_regular(source) as stream:
        return zipfile.is_zipfile(stream)


def _unpacked(source: Path, folder: Path) -> Iterator[Path]:
    """Unpack only members with a released name, each under our own name, never to a path from the archive."""
    with open_zip(source) as archive:
        for member in archive.infolist():
            name = member.filename.rpartition("/")[2]
            if name.removesuffix(".pt") not in PARTS or not name.endswith(".pt"):
                continue
            if member.file_size > LARGEST_BYTES:
                raise InputError(
                    f"{source}: {name} unpacks to {member.file_size} bytes; it is not a released model"
                )
            path = folder / name
            with path.open("wb") as stream:
                unpack_member(archive, member, stream, f"{source}: {name}", LARGEST_BYTES)
            yield path
            path.unlink()


def fetch_resnet(source: Path | None = None, progress: Progress = silent) -> Path:
    """ResNet-101 with torchvision's first weights, up to its third stage, into the cache."""
    target = default_cache()
    downloaded = target / RESNET_URL.rsplit("/", 1)[1]
    if source is None:
        by_hand = f"download {RESNET_URL} elsewhere, then `trex models fetch {RESNET} --from FILE`"
        source = download(RESNET_URL, downloaded, by_hand, progress)
    state, sha256 = read_checkpoint(_resnet_file(source))
    if not sha256.startswith(RESNET_SHA256):
        raise InputError(
            f"{source} is not torchvision's IMAGENET1K_V1 file: its sha256 begins with {sha256[:8]}, it must be one of "
            f"{', '.join(RESNET_SHA256)}. Other weights, V2 among them, give features that the models never saw"
        )
    network = fill(lambda: ResNet(trunk=False), state, source)
    path = resnet_path()
    card = {
        "architecture": "ResNet-101 (He et al. 2016) up to its third stage",
        "source": RESNET_URL,
        "source_sha256": sha256,
        "license": "BSD-3-Clause (torchvision)",
    }
    with _writing(target):
        write_safetensors(path, trunk_state(network.state_dict()), card)
    downloaded.unlink(missing_ok=True)
    return path


def _resnet_file(source: Path) -> Path:
    """The published file itself, or the one that lies in a folder."""
    if not source.is_dir():
        return source
    found = sorted(source.glob(f"{RESNET}-*.pth"))
    if not found:
        name = RESNET_URL.rsplit("/", 1)[1]
        raise InputError(
            f"folder {source} has no published ResNet-101 ({name}); give the file, or another folder"
        )
    return found[0]


def load_part(name: str) -> Part:
    """A released part from the cache; InputError if it is missing or differs from the file used first."""
    path = part_path(name)
    if not path.is_file():
        raise InputError(f"{name} is not in the cache ({path}); run `trex models fetch iep`")
    (part,) = read_parts(path)
    check_recorded(path.parent, path.name, str(read_card(path)["sha256"]))
    return part


def load_resnet() -> ResNet:
    """ResNet-101 from the cache, in evaluation mode."""
    path = resnet_path()
    if not path.is_file():
        raise InputError(f"ResNet-101 is not in the cache ({path}); run `trex models fetch {RESNET}`")
    network = fill(ResNet, read_safetensors(path), path)
    assert isinstance(network, ResNet)
    check_recorded(path.parent, path.name, str(read_card(path)["sha256"]))
    return network


def list_iep() -> list[tuple[str, Path, bool]]:
    """Every released part and ResNet-101 as (name, path, whether it exists)."""
    found = [(f"iep:{name}", part_path(name)) for name in PARTS] + [(RESNET, resnet_path())]
    return [(name, path, path.is_file()) for name, path in found]
