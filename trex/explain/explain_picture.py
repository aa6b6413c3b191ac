"""Explains a model's answer on a real CLEVR picture: renders its scene again, without each object in turn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trex.clevr_models.interface.labels import bound_to
from trex.clevr_models.interface.options import ModelOptions
from trex.clevr_models.interface.question import Question
from trex.datasets.examples import Tally
from trex.datasets.official_scenes import OfficialPicture, read_official
from trex.explain.compared import Compared, compared, compared_words, is_right
from trex.explain.view import Shot, outlined
from trex.explain.words import Before, Removed, blame_sentence
from trex.foundation.errors import InputError
from trex.foundation.files import read_text, write_atomic
from trex.foundation.json_fields import mapping, short
from trex.foundation.parse import parse_json
from trex.inference.attribution.blame import Blame, find_blame
from trex.inference.attribution.leave_one_out import only, strongest
from trex.inference.scoring import Scorer, images
from trex.inference.types import Floats
from trex.pages.page import page
from trex.pages.table import Column, Table
from trex.pages.thumbnails import jpeg_url
from trex.pages.wording import points
from trex.query.schema import RenderSection
from trex.render.cache import CachedRenderer
from trex.render.picture import Picture
from trex.render.similarity import mean_ssim, shrink
from trex.runs.folder import check_out
from trex.scenes.edits import leave_out
from trex.scenes.questions.english import parse
from trex.scenes.questions.programs import Program
from trex.scenes.questions.truth import true_answer
from trex.scenes.scene import Scene, object_words
from trex.scenes.vocabulary import CLEVR
from trex.trials.hits import largest_change
from trex.worlds.world import open_model, open_renderer

if TYPE_CHECKING:
    from trex.clevr_models.interface.bound import BoundModel

NOT_REPRODUCED = (
    "Our render does not show the answer that is to be explained, so that no object can be blamed for it."
)
FILE, PAGE, CACHE = "explanation.json", "explanation.html", "pictures"


@dataclass(frozen=True)
class PictureQuestion:
    """The picture (name or file name) and its data set, the question, the model, the preset, the model's options."""

    dataset: Path
    image: str
    question: str
    model: str = "shipped"
    preset: str = "reference"
    options: ModelOptions | None = None


@dataclass(frozen=True)
class PictureAnswer:
    """The model's answer on one picture, and the probability of the answer that is explained."""

    words: str
    answer: str
    probability: float
    truth: str


@dataclass(frozen=True)
class PictureExplained:
    """`official` is the real picture, `again` its scene rendered again; effects are relative to `again`."""

    picture: str
    question: str
    model: str
    preset: str
    official: PictureAnswer
    again: PictureAnswer
    camera_px: float  # largest distance of an object under the recovered camera from its recorded pixel
    ssim: float
    control_difference: float  # largest change of a probability when rendered again; must be 0
    removals: tuple[PictureAnswer, ...]
    notes: tuple[str, ...]  # what the official picture's pixels lack of its file

    @property
    def effects(self) -> tuple[float, ...]:
        """The change of the probability when each object is left out."""
        return tuple(removal.probability - self.again.probability for removal in self.removals)

    @property
    def blame(self) -> Blame:
        """The objects responsible for the answer to the official picture; none if our render does not show it."""
        if not self.is_reproduced:
            return Blame("none")
        return find_blame(self.effects, self._flips, only_flips=self.compared == "truth")

    @property
    def compared(self) -> Compared:
        """What the removals are compared by."""
        return compared(self.again.answer, self.again.truth)

    @property
    def _flips(self) -> list[bool]:
        if self.compared == "truth":
            return [is_right(removal.answer, removal.truth) for removal in self.removals]
        return [removal.answer != self.again.answer for removal in self.removals]

    @property
    def is_reproduced(self) -> bool:
        """Whether the model answers our render of the scene as it does the official picture."""
        return self.again.answer == self.official.answer

    @property
    def strongest(self) -> int | None:
        """The object responsible whose removal lowers the probability most; None if none, or several, do."""
        rows = zip(self.effects, self._flips, strict=True)
        effects = [e if is_flip or self.compared != "truth" else 0.0 for e, is_flip in rows]
        return only(strongest(effects)) if self.is_reproduced else None

    def _removed(self) -> list[Removed]:
        pairs = zip(self.removals, self.effects, strict=True)
        return [
            Removed(answer.words.removeprefix("without "), effect, answer.answer, answer.truth)
            for answer, effect in pairs
        ]

    def sentences(self) -> tuple[str, ...]:
        """The explanation in sentences, for the terminal and the page."""
        says, again = self.official, self.again
        same = "the same" if self.is_reproduced else "another"
        exact = (
            "exactly the same" if self.control_difference == 0 else "NOT the same, so effects mean nothing"
        )
        fits = f"camera recovered within {self.camera_px:.2f} px, SSIM {self.ssim:.3f}, lights at their base positions"
        return (
            f"On the official picture {self.model} says {says.answer} ({says.probability:.3f}); "
            f"the truth is {says.truth}.",
            f"On our render of its scene it gives {same} answer, {again.answer}; "
            f"P({says.answer}) is {again.probability:.3f} ({fits}).",
            f"Rendered twice, every probability is {exact}.",
            *(f"{note}." for note in self.notes),
            *((compared_words(self.compared, self.again.truth),) if self.is_reproduced else ()),
            self._says(),
        )

    def _says(self) -> str:
        if not self.is_reproduced:
            return NOT_REPRODUCED
        return blame_sentence(self.blame, self._removed(), Before(self.again.answer, self.compared))


def explain_picture(wanted: PictureQuestion, out: Path) -> PictureExplained:
    """Write OUT/explanation.json and .html (which holds the official picture: do not publish it).

    Rendered pictures are kept in OUT/pictures, so the same command resumes after a kill. InputError if OUT holds the
    explanation of something else.
    """
    tally = Tally()
    (picture,) = read_official(wanted.dataset, wanted.image, tally)
    program = parse(wanted.question)
    model = open_model(wanted.model, wanted.options)
    bound = bound_to(model, Question(wanted.question, program))
    check_out(out, (FILE, PAGE, CACHE))
    _check_same(out / FILE, wanted, picture)
    renderer = open_renderer(RenderSection(preset=wanted.preset), CLEVR)
    try:
        scenes = [picture.scene, *(leave_out(picture.scene, i) for i in range(len(picture.scene.objects)))]
        cached = CachedRenderer(renderer, out / CACHE)
        pictures = cached.render(scenes)
        (control,) = Scorer(renderer, bound).score([picture.scene])
        (first,) = Scorer(cached, bound).score([picture.scene])
    finally:
        renderer.close()
    difference = largest_change(first.log_probs, control.log_probs)
    explained = _explained(
        wanted, picture, program, bound, list(zip(scenes, pictures, strict=True)), difference
    )
    explained = replace(explained, notes=tally.sentences)
    write_atomic(out / FILE, (json.dumps(_json(explained), indent=1) + "\n").encode())
    write_atomic(out / PAGE, _page(explained, picture, pictures).encode())
    return explained


def _about(wanted: PictureQuestion, picture: OfficialPicture) -> dict[str, str]:
    """What is explained, as it is stored."""
    model = "the shipped model" if wanted.model == "shipped" else wanted.model
    return {"picture": picture.name, "question": wanted.question, "model": model, "preset": wanted.preset}


def _check_same(file: Path, wanted: PictureQuestion, picture: OfficialPicture) -> None:
    """Raise InputError if the file holds the explanation of another picture, question, model or preset."""
    if not file.exists():
        return
    stored = mapping(parse_json(read_text(file), str(file)), str(file))
    for key, value in _about(wanted, picture).items():
        if stored.get(key) != value:
            raise InputError(
                f"{file.parent} already holds an explanation of {key} {short(stored.get(key))}, not {short(value)}; "
                "give another folder with --out"
            )


def _explained(
    wanted: PictureQuestion,
    picture: OfficialPicture,
    program: Program,
    bound: BoundModel,
    rendered: Sequence[tuple[Scene, Picture]],
    control_difference: float,
) -> PictureExplained:
    """The explanation by the scene and its pictures: whole, then without each object."""
    official = bound.log_probs(images([picture]))[0]
    explained = int(official.argmax())

    def answer(words: str, row: Floats, scene: Scene) -> PictureAnswer:
        label, probability = bound.labels[int(row.argmax())], float(np.exp(row[explained]))
        return PictureAnswer(words, label, probability, true_answer(program, scene))

    left_out = [f"without {object_words(picture.scene, i)}" for i in range(len(picture.scene.objects))]
    rows = zip(
        ("nothing left out", *left_out),
        bound.log_probs(images([shown for _, shown in rendered])),
        [scene for scene, _ in rendered],
        strict=True,
    )
    again, *removals = (answer(*row) for row in rows)
    ours = rendered[0][1].pixels
    return PictureExplained(
        **_about(wanted, picture),
        official=answer("the official picture", official, picture.scene),
        again=again,
        camera_px=picture.fit.error_px,
        ssim=mean_ssim(shrink(picture.pixels, ours), ours),
        control_difference=control_difference,
        removals=tuple(removals),
        notes=(),
    )


def removal_table(explained: PictureExplained) -> Table[PictureAnswer]:
    """The effect of leaving out each object, for the terminal."""
    columns: tuple[Column[PictureAnswer], ...] = (
        Column("change", lambda answer: answer.words),
        Column("effect", lambda it: points(it.probability - explained.again.probability), is_number=True),
        Column("model", lambda answer: answer.answer),
        Column("truth", lambda answer: answer.truth),
    )
    return Table("Each object left out", columns, explained.removals)


def _json(explained: PictureExplained) -> dict[str, object]:
    return {
        **asdict(explained),
        "effects": list(explained.effects),
        "strongest": explained.strongest,
        "blame": asdict(explained.blame),
        "compared": explained.compared,
        "says": explained.sentences()[-1],
    }


def _page(explained: PictureExplained, picture: OfficialPicture, pictures: Sequence[Picture]) -> str:
    marked = outlined(pictures[0].pixels, pictures[0].mask, explained.blame.parts)
    shots = [
        _shot(jpeg_url(picture.pixels), explained.official),
        _shot(jpeg_url(marked), explained.again),
        *(
            _shot(jpeg_url(item.pixels), removal, mark="responsible" if i in explained.blame.parts else "")
            for i, (item, removal) in enumerate(zip(pictures[1:], explained.removals, strict=True))
        ),
    ]
    return page("picture.html", {"made": explained, "shots": shots})


def _shot(image: str, answer: PictureAnswer, *, mark: str = "") -> Shot:
    caption = f"{answer.answer} · {answer.probability:.3f}; truth {answer.truth}"
    return Shot(image, answer.words, caption, f"{answer.words}: {caption}", mark)
