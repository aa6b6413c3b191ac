"""What is known of a scene and of a question before the model is asked."""

from __future__ import annotations

from dataclasses import dataclass

from trex.scenes.appearance import hidden
from trex.scenes.questions.programs import Program
from trex.scenes.scene import Scene
from trex.scenes.visibility import id_map
from trex.scenes.vocabulary import Vocabulary


@dataclass(frozen=True)
class Facts:
    """A scene, and of each object its visible share and the index of what hides most of the rest."""

    scene: Scene
    shares: tuple[float, ...]
    hiders: tuple[int | None, ...]


@dataclass(frozen=True)
class Asked:
    """A question about a scene: its program and its true answer."""

    program: Program
    truth: str


def facts_of(scene: Scene, vocabulary: Vocabulary) -> Facts:
    """The facts of a scene; takes an id map of the scene and one of each object."""
    whole = id_map(scene, vocabulary)
    rows = [hidden(scene, index, vocabulary, whole) for index in range(len(scene.objects))]
    return Facts(scene, tuple(share for share, _ in rows), tuple(hider for _, hider in rows))
