"""Step 1: mistakes grown from labelled pictures by noise on their codes (Defuse, "identify").

A decoding is kept if the model does not call it what the picture it was grown from is labelled, whatever the model
said of that picture. Nobody has checked that it still shows that class: it is a likely mistake.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trex.foundation.progress import Progress
from trex.foundation.words import counted, percent
from trex.inference.repair.perturbation import NOISES, nearest_rows, perturbation
from trex.inference.rng import stream
from trex.mnist_models.pictures import DataSet
from trex.repair.decoders.loaded import Folder, Loaded, Stream, answers, check_enough, pictures_of
from trex.repair.domain import Work
from trex.repair.files import (
    Array,
    Flags,
    Floats,
    Found,
    Ints,
    Record,
    flags,
    floats,
    ints,
    read_arrays,
    write_arrays,
)
from trex.repair.folder import PARTS
from trex.repair.settings import DecoderQuery

CHUNK = 50  # pictures in a part
COMPARED_DRAWS = 6
GROWN, HELD = "mistakes.safetensors", "held_out.safetensors"


class NoiseCount(Record):
    """Decodings under one kind of noise: how many, not called the label, and of these with a right reconstruction."""

    noise: str
    decodings: int
    wrong: int
    wrong_new: int


class IdentifyResult(Found):
    """What the step found; `kept` and `kept_new` after the caps, `held_out` from pictures of the test split."""

    seeds: int
    seeds_plain_wrong: int  # pictures whose plain reconstruction is not called their label
    grown: NoiseCount
    kept: int
    kept_new: int
    held_out: int
    compared: list[NoiseCount]

    @property
    def lines(self) -> list[str]:
        rows = [
            f"{each.noise:<11} {each.decodings:>9,}  {percent(each.wrong / each.decodings):>20}  "
            f"{percent(each.wrong_new / each.decodings):>33}"
            for each in self.compared
        ]
        return ["noise       decodings  not called the label  of these, plain reconstruction right", *rows]

    @property
    def sentences(self) -> list[str]:
        """Whether the generator or the model is responsible for mistakes without noise is not known: the picture itself
        is not put to the model.
        """
        plain = self.kept - self.kept_new
        share = percent(plain / self.kept) if self.kept else "none"
        return [
            f"{counted(self.kept, 'likely mistake')} kept of {self.grown.wrong:,} among {self.grown.decodings:,} "
            f"decodings ({self.grown.noise} noise) of {counted(self.seeds, 'picture')}. For {plain:,} ({share}) the "
            "model is already wrong on the plain reconstruction: these needed no noise.",
            f"{counted(self.held_out, 'mistake')} grown from test pictures, for the test.",
        ]


@dataclass(frozen=True, eq=False)
class Mistakes:
    """n mistakes: codes (n, d), rows of their pictures in the split, labels, the model's answers.

    `plain_wrong`: whether the model is already wrong on the plain reconstruction of the picture.
    """

    codes: Floats
    rows: Ints
    labels: Ints
    answers: Ints
    plain_wrong: Flags

    def at(self, kept: Ints | Flags) -> Mistakes:
        """The mistakes at these positions, or under this mask."""
        return Mistakes(
            self.codes[kept], self.rows[kept], self.labels[kept], self.answers[kept], self.plain_wrong[kept]
        )


def read_mistakes(path: Path) -> Mistakes:
    return mistakes_in(read_arrays(path))


def mistakes_in(found: Mapping[str, Array]) -> Mistakes:
    rows, labels, answers = (ints(found[name]) for name in ("rows", "labels", "answers"))
    return Mistakes(floats(found["codes"]), rows, labels, answers, flags(found["plain_wrong"]))


def grow(folder: Folder, loaded: Loaded) -> Work:
    """The step; InputError if there are fewer pictures than the query asks for."""
    wanted, query = folder.query.identify, folder.query
    learning = check_enough(query, loaded)

    def carry_out(place: Path, progress: Progress) -> IdentifyResult:
        rows = np.sort(stream(query.seed, Stream.CHOSEN).permutation(learning)[: wanted.seeds])
        held = np.sort(
            stream(query.seed, Stream.CHOSEN, 1).permutation(len(loaded.test.images))[: wanted.held_out]
        )
        compared = list(_compared(folder, loaded, learning, place / PARTS))
        parts = place / PARTS
        grown, counts = _grown(folder, loaded, loaded.train, rows, Stream.IDENTIFY, parts, progress)
        kept = np.sort(stream(query.seed, Stream.CHOSEN, 2).permutation(len(grown.rows))[: wanted.most])
        grown = grown.at(kept)
        held_out, _ = _grown(folder, loaded, loaded.test, held, Stream.HELD_OUT, parts, progress)
        write_arrays(place / GROWN, vars(grown))
        write_arrays(place / HELD, vars(held_out))
        decodings, wrong, wrong_new, plain_wrong = map(int, counts)
        return IdentifyResult(
            seeds=len(rows),
            seeds_plain_wrong=plain_wrong,
            grown=NoiseCount(noise=wanted.noise, decodings=decodings, wrong=wrong, wrong_new=wrong_new),
            kept=len(grown.rows),
            kept_new=int((~grown.plain_wrong).sum()),
            held_out=len(held_out.rows),
            compared=compared,
        )

    return carry_out


def _grown(
    folder: Folder, loaded: Loaded, data: DataSet, rows: Ints, key: int, parts: Path, progress: Progress
) -> tuple[Mistakes, Ints]:
    """Mistakes of all these pictures of a split, part by part, and the counts of all decodings."""
    found = []
    for start in range(0, len(rows), CHUNK):
        path = parts / f"{data.split}-{start:07}.safetensors"
        if not path.exists():
            write_arrays(path, _part(folder.query, loaded, data, rows[start : start + CHUNK], key))
        found.append(read_arrays(path))
        progress(f"{data.split} pictures perturbed", min(start + CHUNK, len(rows)), len(rows))
    joined = {name: np.concatenate([part[name] for part in found]) for name in found[0]}
    counts = ints(joined.pop("counts")).reshape(-1, 4).sum(axis=0)
    return mistakes_in(joined), counts


def _part(query: DecoderQuery, loaded: Loaded, data: DataSet, rows: Ints, key: int) -> dict[str, Array]:
    wanted, labels = query.identify, data.labels[rows].astype(np.int64)
    noise = perturbation(wanted.noise, wanted.concentration, wanted.scale)
    codes = loaded.generator.encode(pictures_of(data, rows))
    is_plain_wrong = _answers(loaded, codes.mean) != labels
    steps = np.stack(
        [
            noise.draw(stream(query.seed, key, int(row)), deviation, wanted.draws)
            for row, deviation in zip(rows, codes.deviation, strict=True)
        ]
    )  # (n, draws, d)
    perturbed = codes.mean[:, None] + steps
    given = _answers(loaded, perturbed.reshape(-1, steps.shape[2])).reshape(len(rows), -1)
    wrong = given != labels[:, None]
    nearest = [nearest_rows(steps[i], np.flatnonzero(wrong[i]), wanted.cap) for i in range(len(rows))]
    of = np.repeat(np.arange(len(rows)), [len(each) for each in nearest])
    draw = np.concatenate(nearest).astype(np.int64)
    n_new = int(wrong[~is_plain_wrong].sum())
    return {
        "codes": perturbed[of, draw],
        "rows": rows[of],
        "labels": labels[of],
        "answers": given[of, draw],
        "plain_wrong": is_plain_wrong[of],
        "counts": np.array([wrong.size, int(wrong.sum()), n_new, int(is_plain_wrong.sum())], np.int64),
    }


def _answers(loaded: Loaded, codes: Floats) -> Ints:
    return answers(loaded.model.module, loaded.generator.decode(codes))


def _compared(folder: Folder, loaded: Loaded, learning: Ints, parts: Path) -> Iterator[NoiseCount]:
    """The same few pictures under no noise and under each kind of noise."""
    wanted, seed = folder.query.identify, folder.query.seed
    rows = np.sort(stream(seed, Stream.COMPARE).permutation(learning)[: wanted.compared])
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
                noise.draw(stream(seed, Stream.COMPARE, 1 + kind, int(row)), deviation, COMPARED_DRAWS)
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


def clustered(query: DecoderQuery, grown: Mistakes) -> Ints:
    """The positions of the mistakes that components are made of: all, or those that need noise (`distill.of`)."""
    return np.flatnonzero(~grown.plain_wrong | (query.distill.of != "new"))
