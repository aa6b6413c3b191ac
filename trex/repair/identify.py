"""Step 1: mistakes grown from labelled pictures by noise on their codes (Defuse, "identify").

A decoding is kept if the model does not call it what the picture it was grown from is labelled, whatever the model
said of that picture. Nobody has checked that it still shows that class: it is a likely mistake.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trex.foundation.errors import InputError
from trex.inference.repair.perturbation import NOISES, Perturbation, nearest_rows, perturbation
from trex.inference.rng import stream
from trex.mnist_models.pictures import DataSet
from trex.repair.arrays import Array, Floats, Ints, ints, read_arrays, write_arrays
from trex.repair.folder import PARTS, RepairFolder
from trex.repair.loaded import (
    CHOSEN,
    COMPARE,
    HELD_OUT,
    IDENTIFY,
    Loaded,
    Progress,
    answers,
    pictures_of,
    validation_rows,
)
from trex.repair.mistakes import Mistakes, mistakes_in, write_mistakes
from trex.repair.records import Record, write_record
from trex.repair.settings import RepairQuery

CHUNK = 50  # pictures in a part
COMPARED_DRAWS = 6
GROWN, HELD = "mistakes.safetensors", "held_out.safetensors"
RESULT = "identify.json"


class NoiseCount(Record):
    """Decodings under one kind of noise: how many, not called the label, and of these with a right reconstruction."""

    noise: str
    decodings: int
    wrong: int
    wrong_new: int


class IdentifyResult(Record):
    """What the step found; `kept` and `kept_new` after the caps, `held_out` from pictures of the test split."""

    seeds: int
    seeds_plain_wrong: int  # pictures whose plain reconstruction is not called their label
    grown: NoiseCount
    kept: int
    kept_new: int
    held_out: int
    compared: list[NoiseCount]


def check_enough(query: RepairQuery, loaded: Loaded) -> Ints:
    """The training pictures that mistakes may grow from; InputError if there are fewer than the query asks for."""
    wanted = query.identify
    learning, _ = validation_rows(query, loaded.train)
    for what, asked, there in (
        ("seeds", wanted.seeds, len(learning)),
        ("held_out", wanted.held_out, len(loaded.test.images)),
        ("compared", wanted.compared, len(learning)),
    ):
        if asked > there:
            raise InputError(f"identify.{what} = {asked}, and there are only {there} pictures; take fewer")
    return learning


def identify(folder: RepairFolder, loaded: Loaded, progress: Progress) -> None:
    """Carry out the step, or resume it; InputError if there are fewer pictures than the query asks for."""
    wanted, query = folder.query.identify, folder.query
    learning = check_enough(query, loaded)
    place = folder.begin("identify")
    if place is None:
        return
    noise = perturbation(wanted.noise, wanted.concentration, wanted.scale)
    rows = np.sort(stream(query.seed, CHOSEN).permutation(learning)[: wanted.seeds])
    held = np.sort(stream(query.seed, CHOSEN, 1).permutation(len(loaded.test.images))[: wanted.held_out])
    compared = list(_compared(folder, loaded, learning, place / PARTS))
    grow = _Grow(folder, loaded, noise, place / PARTS)
    grown, counts = grow.all(loaded.train, rows, IDENTIFY, progress)
    kept = np.sort(stream(query.seed, CHOSEN, 2).permutation(len(grown.rows))[: wanted.most])
    grown = grown.at(kept)
    held_out, _ = grow.all(loaded.test, held, HELD_OUT, progress)
    write_mistakes(place / GROWN, grown)
    write_mistakes(place / HELD, held_out)
    result = IdentifyResult(
        seeds=len(rows),
        seeds_plain_wrong=int(counts[3]),
        grown=NoiseCount(
            noise=noise.noise, decodings=int(counts[0]), wrong=int(counts[1]), wrong_new=int(counts[2])
        ),
        kept=len(grown.rows),
        kept_new=int((~grown.plain_wrong).sum()),
        held_out=len(held_out.rows),
        compared=compared,
    )
    write_record(place / RESULT, result)
    folder.finish("identify")


@dataclass(frozen=True, eq=False)
class _Grow:
    folder: RepairFolder
    loaded: Loaded
    noise: Perturbation
    parts: Path

    def all(self, data: DataSet, rows: Ints, key: int, progress: Progress) -> tuple[Mistakes, Ints]:
        """Mistakes of all these pictures of a split, part by part, and the counts of all decodings."""
        found = []
        for start in range(0, len(rows), CHUNK):
            path = self.parts / f"{data.split}-{start:07}.safetensors"
            if not path.exists():
                write_arrays(path, self._chunk(data, rows[start : start + CHUNK], key))
            found.append(read_arrays(path))
            progress(f"{data.split} pictures perturbed", min(start + CHUNK, len(rows)), len(rows))
        joined = {name: np.concatenate([part[name] for part in found]) for name in found[0]}
        counts = ints(joined.pop("counts")).reshape(-1, 4).sum(axis=0)
        return mistakes_in(joined), counts

    def _chunk(self, data: DataSet, rows: Ints, key: int) -> dict[str, Array]:
        wanted, seed = self.folder.query.identify, self.folder.query.seed
        labels = data.labels[rows].astype(np.int64)
        codes = self.loaded.generator.encode(pictures_of(data, rows))
        is_plain_wrong = self._answers(codes.mean) != labels
        steps = np.stack(
            [
                self.noise.draw(stream(seed, key, int(row)), deviation, wanted.draws)
                for row, deviation in zip(rows, codes.deviation, strict=True)
            ]
        )  # (n, draws, d)
        perturbed = codes.mean[:, None] + steps
        said = self._answers(perturbed.reshape(-1, steps.shape[2])).reshape(len(rows), -1)
        wrong = said != labels[:, None]
        nearest = [nearest_rows(steps[i], np.flatnonzero(wrong[i]), wanted.cap) for i in range(len(rows))]
        of = np.repeat(np.arange(len(rows)), [len(one) for one in nearest])
        draw = np.concatenate(nearest).astype(np.int64)
        n_new = int(wrong[~is_plain_wrong].sum())
        return {
            "codes": perturbed[of, draw],
            "rows": rows[of],
            "labels": labels[of],
            "answers": said[of, draw],
            "plain_wrong": is_plain_wrong[of],
            "counts": np.array([wrong.size, int(wrong.sum()), n_new, int(is_plain_wrong.sum())], np.int64),
        }

    def _answers(self, codes: Floats) -> Ints:
        return answers(self.loaded.model.module, self.loaded.generator.decode(codes))


def _compared(folder: RepairFolder, loaded: Loaded, learning: Ints, parts: Path) -> Iterator[NoiseCount]:
    """The same few pictures under no noise and under each kind of noise."""
    wanted, seed = folder.query.identify, folder.query.seed
    rows = np.sort(stream(seed, COMPARE).permutation(learning)[: wanted.compared])
    path = parts / "compared.safetensors"
    if not path.exists():
        labels = loaded.train.labels[rows].astype(np.int64)
        codes = loaded.generator.encode(pictures_of(loaded.train, rows))
        module, decode = loaded.model.module, loaded.generator.decode
        is_plain_wrong = answers(module, decode(codes.mean)) != labels
        table = [[len(rows), int(is_plain_wrong.sum()), 0]]
        for kind, name in enumerate(NOISES):
            noise = perturbation(name, wanted.concentration, wanted.scale if name == wanted.noise else None)
            steps = [
                noise.draw(stream(seed, COMPARE, 1 + kind, int(row)), deviation, COMPARED_DRAWS)
                for row, deviation in zip(rows, codes.deviation, strict=True)
            ]
            perturbed = (codes.mean[:, None] + np.stack(steps)).reshape(-1, loaded.generator.latent)
            wrong = (answers(module, decode(perturbed)) != np.repeat(labels, COMPARED_DRAWS)).reshape(
                len(rows), -1
            )
            table.append([wrong.size, int(wrong.sum()), int(wrong[~is_plain_wrong].sum())])
        write_arrays(path, {"table": np.array(table, np.int64)})
    for noise_name, row in zip(("none", *NOISES), ints(read_arrays(path)["table"]), strict=True):
        yield NoiseCount(noise=noise_name, decodings=int(row[0]), wrong=int(row[1]), wrong_new=int(row[2]))
