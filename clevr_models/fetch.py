"""Released models into the user's cache: fetched or copied, checked by sha256, kept as safetensors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from artifacts.cache import cache_root
from artifacts.download import download
from artifacts.weights import (
    card_path,
    load_into,
    read_card,
    read_foreign,
    read_safetensors,
    write_safetensors,
)
from clevr_models.relation_network import RelationNetwork
from clevr_models.relation_vocabulary import how_found
from foundation.errors import InputError, unknown

REPOSITORY = "https://github.com/mesnico/RelationNetworks-CLEVR"
RAW = "https://raw.githubusercontent.com/mesnico/RelationNetworks-CLEVR"


class Release(NamedTuple):
    """One published checkpoint: its file name, the commit that added it, and its sha256."""

    file: str
    commit: str
    sha256: str

    @property
    def url(self) -> str:
        """Where the file is published, at a commit that cannot change."""
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
    """Where fetched models lie: `$TREX_CACHE/models`, or `~/.cache/bayes-trex/models`."""
    return cache_root() / "models"


def relation_path(variant: str, cache: Path | None = None) -> Path:
    """Where a variant of the Relation Network lies, or would lie, in the cache."""
    return (cache or default_cache()) / f"relation-network-{variant}.safetensors"


def fetch_relation_network(source: Path | None = None, cache: Path | None = None) -> list[Path]:
    """Both variants into the cache, from a folder with the published .pth files or else from their repository.

    InputError for a file that is not the published one, ModelError where the network does not give it.
    """
    target = cache or default_cache()
    paths = []
    for variant, release in RELEASES.items():
        target.mkdir(parents=True, exist_ok=True)
        original = _download(release, target) if source is None else source / release.file
        paths.append(_convert(variant, release, original, target))
        if source is None:
            original.unlink()
    return paths


def _convert(variant: str, release: Release, original: Path, cache: Path) -> Path:
    state = read_foreign(original, release.sha256)
    load_into(RelationNetwork(variant), state, original)
    path = relation_path(variant, cache)
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


def _download(release: Release, folder: Path) -> Path:
    by_hand = f"download {release.url} elsewhere, then `trex models fetch relation-network --from FOLDER`"
    data = download(release.url, release.sha256, by_hand)
    path = folder / f"{release.file}.{os.getpid()}.part"
    path.write_bytes(data)
    return path


def list_models(cache: Path | None = None) -> list[tuple[str, Path, bool]]:
    """Every fetchable model as (name, where it lies, whether it is there)."""
    found = [(name, relation_path(variant, cache)) for name, variant in NAMES.items()]
    return [(name, path, path.is_file()) for name, path in found]


def verify_model(name: str, cache: Path | None = None) -> Path:
    """The path of a fetched model that loads and has the sha256 on its card; InputError says what is wrong."""
    if name not in NAMES:
        raise unknown("model", name, NAMES)
    variant = NAMES[name]
    path = relation_path(variant, cache)
    if not path.is_file():
        raise InputError(f"{name} is not in the cache ({path}); run `trex models fetch relation-network`")
    load_into(RelationNetwork(variant), read_safetensors(path), path)
    if read_card(path).get("source_sha256") != RELEASES[variant].sha256:
        raise InputError(
            f"card {card_path(path)} names another source than the published one; fetch the model again"
        )
    return path
