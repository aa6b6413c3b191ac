"""What the plainer entrants ask about a picture: how many things there are of each value, and the scene's questions."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.planted.claims import Pictures
from benchmarks.planted.referee import Referee, Shown
from benchmarks.planted.world import Known
from trex.scenes.misreading import counting
from trex.scenes.questions.bitsets import scene_sets
from trex.scenes.questions.programs import Program
from trex.scenes.scene import ATTRIBUTES
from trex.scenes.vocabulary import CLEVR

COUNTS: dict[str, Program] = {
    "things": counting(()),
    **{
        f"{name} {value}": counting([(name, value)]) for name in ATTRIBUTES for value in CLEVR.available(name)
    },
}


@dataclass(frozen=True)
class Looked:
    """A rendered scene: the counts that were wrong ("shape cube", by how much), and whether each question was."""

    known: Known
    shown: Shown
    off: tuple[tuple[str, int], ...]
    wrong: tuple[bool, ...]

    @property
    def failed(self) -> bool:
        """Whether anything was wrong."""
        return bool(self.off) or any(self.wrong)

    @property
    def symptom(self) -> str:
        """How it failed: what was counted too often and too rarely, or that a question was answered wrongly; ""."""
        if self.off:
            return ", ".join(f"{'+' if n > 0 else '-'}{name}" for name, n in self.off)
        return "question" if any(self.wrong) else ""


@dataclass(frozen=True, eq=False)
class Labelled:
    """What a labelled test set and the model's answers show: a picture, and whether some answer was wrong."""

    pixels: Pictures  # (80, 120, 3)
    failed: bool


def labelled(referee: Referee, n: int) -> list[Labelled]:
    """n random pictures, each rendered and asked about as by `look`, without their scenes: the pixel track."""
    looked = (look(referee, known) for known in referee.draw(n))
    return [Labelled(each.shown.pixels, each.failed) for each in looked]


def look(referee: Referee, known: Known) -> Looked:
    """Render a scene and ask about it: 16 counts and its own questions."""
    picture, sets = referee.render(known.facts), scene_sets(known.scene)
    off = []
    for name, program in COUNTS.items():
        attribute, _, value = name.partition(" ")
        true = len(known.scene.objects) if not value else sets.having[attribute].get(value, 0).bit_count()
        said = referee.answer(picture, program)
        if said != str(true):
            off.append((name, (int(said) if said.isdecimal() else 0) - true))
    wrong = tuple(referee.answer(picture, each.program) != each.truth for each in known.asked)
    return Looked(known, picture, tuple(off), wrong)
