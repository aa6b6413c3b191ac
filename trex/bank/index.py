"""`bank.json`: what a bank is, in words and as data. Untrusted on reading; nothing in it is used as a path."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from trex.foundation.errors import InputError
from trex.foundation.files import MIB, read_bytes, read_text, replacing
from trex.foundation.parse import parse_json
from trex.query.schema import Count, Name, Section, Sentence
from trex.render.assets import mesh_paths
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene, scene_id
from trex.scenes.vocabulary import CLEVR, Vocabulary

FILE = "bank.json"
FORMAT = 1
LIMIT = 4 * MIB
MAX_MEMBERS = 10_000_000  # members of a bank
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class BankWorld(Section):
    """What determines the members, besides the seed: number of objects, allowed categories in order, shapes by hash.

    `wrong` holds the conditions on scenes, such as that answers are wrong, as text; "" for none. `first` is the id of
    member 0, which changes with the code that draws.
    """

    words: Sentence
    objects: tuple[Count, Count]
    categories: Annotated[tuple[Name, ...], Field(max_length=100_000)]
    shapes: Annotated[dict[Name, Sha256], Field(max_length=1000)]
    wrong: Annotated[str, Field(max_length=20_000)] = ""
    first: Sha256


class BankIndex(Section):
    """A bank's identity, its look (a preset, and the renderer's key), and how many members are known to be rendered."""

    format: Count = FORMAT
    world: BankWorld
    seed: Annotated[Count, Field(ge=0, lt=2**63)]
    look: Name
    renderer: Sentence
    rendered: Annotated[Count, Field(ge=0, le=MAX_MEMBERS)] = 0
    trex: Name = ""

    @property
    def world_key(self) -> str:
        """32 hex digits, equal for banks with the same members whatever their look."""
        world = self.world.model_dump(exclude={"words"} if self.world.wrong else {"words", "wrong"})
        return _hash(json.dumps([world, self.seed], sort_keys=True))

    @property
    def key(self) -> str:
        """32 hex digits, the name of the bank's folder."""
        return _hash(f"{self.world_key} {self.renderer}")


def index_of(prior: ScenePrior, seed: int, first: Scene, look: str, renderer: str) -> BankIndex:
    """The index of a bank without pictures; `first` is its member 0."""
    vocabulary = prior.vocabulary
    world = BankWorld(
        words=world_words(prior),
        objects=prior.n_objects,
        categories=tuple(" ".join(category) for category in vocabulary.combinations()),
        shapes=_shape_hashes(vocabulary),
        wrong=prior.condition_key,
        first=scene_id(first),
    )
    return BankIndex(world=world, seed=seed, look=look, renderer=renderer, trex=version("bayes-trex"))


def world_words(prior: ScenePrior) -> str:
    """The world in a few words: "5 objects, no cube, no blue sphere, cone introduced"."""
    low, high = prior.n_objects
    parts = [f"{low} {'object' if high == 1 else 'objects'}" if low == high else f"{low} to {high} objects"]
    parts += [f"no {' '.join(value for _, value in each)}" for each in prior.vocabulary.revoked]
    parts += [f"{name} introduced" for name in prior.vocabulary.shapes if name not in CLEVR.shapes]
    parts += [prior.condition_words] if prior.condition_words else []
    words = ", ".join(parts)
    return words if len(words) <= 2000 else f"{words[:1990]} ..."


def read_index(folder: Path) -> BankIndex | None:
    """The index in a bank's folder, None if it has none; InputError if it is damaged, of another format or foreign."""
    path = folder / FILE
    try:
        data = parse_json(read_text(path, limit=LIMIT, inside=folder), str(path))
    except InputError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise InputError(f"{error}; {_REMEDY}") from error
    found = data.get("format") if isinstance(data, dict) else None
    if found != FORMAT:
        raise InputError(
            f"{path} has format {str(found)[:40]!r}, this version reads format {FORMAT}; {_REMEDY}"
        )
    try:
        index = BankIndex.model_validate(data)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        where = ".".join(map(str, detail["loc"]))
        raise InputError(f"{path} is not the index of a bank: {where}: {detail['msg']}; {_REMEDY}") from error
    if index.key != folder.name:
        raise InputError(
            f"{path} describes another bank ({index.key[:8]}) than the one whose folder it is in; {_REMEDY}"
        )
    return index


def write_index(folder: Path, index: BankIndex) -> None:
    """Write the index atomically; raises OSError."""
    with replacing(folder / FILE, is_precious=False) as file:
        file.write((index.model_dump_json(indent=1) + "\n").encode())


_REMEDY = "delete this file, and it is written anew from the pictures"


def _shape_hashes(vocabulary: Vocabulary) -> dict[str, str]:
    """For each shape that may occur, sha256 of what its card says of its form, and of its mesh."""
    meshes = dict(mesh_paths(vocabulary))
    return {name: _shape_hash(vocabulary, name, meshes[name]) for name in vocabulary.available("shape")}


def _shape_hash(vocabulary: Vocabulary, name: str, mesh: str) -> str:
    card = vocabulary.card(name)
    form = f"{name} {card.outline} {card.hull!r} ".encode()
    return hashlib.sha256(form + hashlib.sha256(read_bytes(Path(mesh))).digest()).hexdigest()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
