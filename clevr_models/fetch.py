"""Fetches released models into the user's cache: downloads or copies, checks sha256, converts to safetensors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from trex.artifacts.cache import cache_root
from trex.artifacts.card import card_path, read_card, sha256_of
from trex.artifacts.download import download
from trex.artifacts.weights import load_into, read_foreign, read_safetensors, write_safetensors
from trex.clevr_models.relation_network.model import how_found
from trex.clevr_models.relation_network.network import RelationNetwork
from trex.foundation.errors import InputError, unknown
from trex.foundation.files import MIB, read_bytes
from trex.foundation.progress import Progress, silent

REPOSITORY = "https://github.com/mesnico/RelationNetworks-CLEVR"
RAW = "https://raw.githubusercontent.com/mesnico/RelationNetworks-CLEVR"


class Release(NamedTuple):
    """One published checkpoint: its file name, the commit that added it, and its sha256."""

    file: str
    commit: str
    sha256: str

    @property
    def url(self) -> str:
        """The published address, at a commit that cannot change."""
        return f"{RAW}/{self.commit}/pretrained_models/{self.file}"


RELEASES: Mapping[str, Release] = {
    "ir": Release(
        "ir_fp_epoch_312.pth",
        "f363a47dfba95c81d73d9650b8698d6901049ebd",
        "5961c61eec7f8e05384f999b8915e6bdd0339205c5b8edfa3feafe21ad833450",
    ),
    "original": Release(
        "original_fp_epoch_493.pth",
        "f6d1511af63aeff6ccf8c0ceabc2a5194c3ee78d",
        "0e1d1fcb0ed68de9f7fbf5fb0b280174ef043b281448af2e4f0ac4ac0e95b13d",
    ),
}
NAMES = {f"relation-network:{variant}": variant for variant in RELEASES}


def default_cache() -> Path:
    """The folder of fetched models: `$TREX_CACHE/models`, or `~/.cache/bayes-trex/models`."""
    return cache_root() / "models"


def relation_path(variant: str) -> Path:
    """The path of a variant of the Relation Network in the cache, whether it exists or not."""
    return default_cache() / f"relation-network-{variant}.safetensors"


def fetch_relation_network(source: Path | None = None, progress: Progress = silent) -> list[Path]:
    """Fetch the variants: both from their repository or a folder with both .pth files, or one from its file.

    Raises InputError for a file that is not a published one, ModelError if the network fails.
    """
    target = default_cache()
    target.mkdir(parents=True, exist_ok=True)
    if source is not None:
        return [_convert(name, RELEASES[name], path) for name, path in _published(source).items()]
    paths = []
    for number, (variant, release) in enumerate(RELEASES.items()):
        by_hand = f"download {release.url} elsewhere, then `trex models fetch relation-network --from FOLDER`"
        original = download(release.url, target / release.file, by_hand, sha256=release.sha256)
        paths.append(_convert(variant, release, original))
        original.unlink()
        progress("files taken", number + 1, len(RELEASES))
    return paths


def _published(source: Path) -> dict[str, Path]:
    """The published files at a path, by variant: the file itself, or both in the folder."""
    if source.is_dir():
        return {variant: source / release.file for variant, release in RELEASES.items()}
    sha256 = sha256_of(read_bytes(source, limit=64 * MIB))
    for variant, release in RELEASES.items():
        if release.sha256 == sha256:
            return {variant: source}
    known = " and ".join(f"{release.file} ({release.sha256[:8]})" for release in RELEASES.values())
    raise InputError(
        f"{source} is not a published Relation Network: its sha256 begins with {sha256[:8]}; give {known}, or a "
        "folder that holds both"
    )


def _convert(variant: str, release: Release, original: Path) -> Path:
    state = read_foreign(original, release.sha256)
    load_into(RelationNetwork(variant), state, original)
    path = relation_path(variant)
    card = {
        "name": f"relation-network:{variant}",
        "architecture": f"Relation Network from pixels (Santoro et al. 2017), variant {variant}",
        "source": release.url,
        "source_sha256": release.sha256,
        "license": "MIT, Copyright (c) 2018 Nicola Messina",
        "repository": REPOSITORY,
        "words": how_found(),
    }
    write_safetensors(path, state, card)
    return path


def list_models() -> list[tuple[str, Path, bool]]:
    """Every fetchable model as (name, path, whether it exists)."""
    found = [(name, relation_path(variant)) for name, variant in NAMES.items()]
    return [(name, path, path.is_file()) for name, path in found]


def verify_model(name: str) -> Path:
    """The path of a fetched model, which is loaded and checked against its card's sha256; InputError if faulty."""
    if name not in NAMES:
        raise unknown("model", name, NAMES)
    variant = NAMES[name]
    path = relation_path(variant)
    if not path.is_file():
        raise InputError(f"{name} is not in the cache ({path}); run `trex models fetch relation-network`")
    load_into(RelationNetwork(variant), read_safetensors(path), path)
    if read_card(path).get("source_sha256") != RELEASES[variant].sha256:
        raise InputError(
            f"card {card_path(path)} names a source other than the published one; fetch the model again"
        )
    return path
