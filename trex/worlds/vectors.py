"""Worlds whose latents are vectors: digit decoders, toys, user-defined worlds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from trex.clevr_models.interface.labels import checked_labels
from trex.datasets.examples import Example, Examples
from trex.foundation.errors import InputError
from trex.inference.scoring import Scorer
from trex.inference.statistics.diagnostics import basic_summaries
from trex.inference.types import Classifier, Draw, Floats, Prior
from trex.mnist_models.latent import StandardNormal
from trex.query.question import ResolvedQuestion, check_answers
from trex.query.resolved import ResolvedQuery
from trex.query.schema import Query, RenderSection, SceneSection
from trex.query.target import make_target
from trex.worlds.description import NOT_KNOWN, Judgment, Known, Noun, Outline, Provenance, Summary
from trex.worlds.fingerprint import probe_probabilities_of
from trex.worlds.kernels import check_gradients, check_search, make_proposal
from trex.worlds.latents import VECTORS, Form, OpenRenderer
from trex.worlds.world import OpenWorld, Plan

if TYPE_CHECKING:  # importing torch takes seconds
    from torch import Tensor

APART = 0.5  # in standard deviations of the prior
RULE = f"Two pictures count as distinct where their latents lie more than {APART:g} apart."
PICTURE = Noun("picture", "pictures")


@dataclass(frozen=True)
class VectorParts:
    """The loaded parts of a query in a world of vectors: what the `load` of a `VectorWorld` returns.

    Parameters
    ----------
    prior : Prior
        The distribution of the latents (d,).
    renderer : Renderer
        Draws latents. It also has `key`, a str that changes whenever its pictures change, and `close()`.
    classifier : Classifier
        The model.
    model_name : str
        What reports call the model.
    model_key : str
        Its name and version or hash: text that changes whenever its answers change. A run with another one is not
        resumed.
    size : pair of int
        Width and height of the pictures, in pixels.
    trained_on : tuple of str, default ()
        The classes that the decoder has seen. None are given if that is unknown or meaningless. Example:
        trained_on=("0", "1").
    differentiable : callable, default None
        From latents (B, d) to log probabilities (B, K) in torch. Kernel "nuts" needs it, and a `StandardNormal` as
        prior. Example: differentiable=lambda z: network(decoder(z)).log_softmax(-1).

    Examples
    --------
    With the classes of the examples of `Renderer` and `Classifier`::

        parts = VectorParts(StandardNormal(2), Dots(), Sign(), "sign", "sign 1", size=(1, 1))
    """

    prior: Prior[Floats]
    renderer: OpenRenderer[Floats]
    classifier: Classifier
    model_name: str
    model_key: str
    size: tuple[int, int]
    trained_on: tuple[str, ...] = ()
    differentiable: Callable[[Tensor], Tensor] | None = None


@dataclass(frozen=True)
class VectorWorld:
    """A world whose latents are vectors, for a package that installs one; `trex.World` is simpler.

    Parameters
    ----------
    name : str
        What `[generator] name` says.
    question : str
        What the classifier answers, as an English question.
    things : str
        What the world draws, in the plural.
    load : callable
        From a query to its `VectorParts`. It raises InputError if the keys of [generator] or [model] do not fit.
    classes : tuple of str, default ()
        The classes of the world's data set, if it has one. A query may name one by its number. Only an answer among
        them can be a class that the decoder never saw. Example: classes=("T-shirt", "trouser").
    labelled : callable, default None
        From a folder and names of splits to the labelled pictures of that data set. None if there is no data set.
        Example: labelled=functools.partial(LabelledPictures, "mnist").
    noun : Noun, default a picture
        The word for a hit, one and several. Example: noun=Noun("dot", "dots").
    rule : str, default latents more than 0.5 apart
        One sentence: when two pictures count as distinct. Example: rule="Two dots 0.5 apart count as distinct.".
    form : Form, default that of vectors
        How a run stores a latent. Leave it as it is. Example: form=VECTORS.

    Examples
    --------
    >>> from trex.worlds.vectors import VectorWorld
    >>> world = VectorWorld("far-out", "Is the dot far out?", "dots", load=lambda query: parts)
    """

    name: str
    question: str
    things: str
    load: Callable[[Query], VectorParts]
    classes: tuple[str, ...] = ()
    labelled: Callable[[Path, tuple[str, ...]], Examples] | None = None
    noun: Noun = PICTURE
    rule: str = RULE
    form: Form[Floats] = VECTORS

    def plan(self, query: Query, query_dir: Path) -> Plan:
        """Check sections, weights, answers and kernel."""
        _check_sections(self.name, query)
        resolved = check_search(query, "vector")
        parts = self.load(query)
        is_standard_normal = type(parts.prior) is StandardNormal  # a subclass may have another density
        check_gradients(resolved, "vector", parts.differentiable is not None, is_standard_normal)
        labels = checked_labels(parts.model_name, parts.classifier.labels)
        resolved = with_names(resolved, labels, self.classes)
        check_answers(resolved, self.question, labels)
        question = ResolvedQuestion(self.question, (), resolved.answer, labels)
        return Plan(
            world=self,
            query=resolved,
            question=question,
            prior=parts.prior,
            model_name=parts.model_name,
            bound=parts.classifier,
            target=make_target(resolved.target, question, labels),
            outline=Outline(
                self.scope(resolved), f"{parts.size[0]} x {parts.size[1]} pixels, {parts.renderer.key}"
            ),
            model_key=lambda: parts.model_key,
            opener=partial(_open, parts),
            trained_on=parts.trained_on,
        )

    def examples(self, plans: Sequence[Plan], folder: Path, splits: tuple[str, ...]) -> Examples:
        """The data set that the world was trained on; InputError if there is none."""
        if self.labelled is None:
            raise InputError(f"generator {self.name!r} has no data set; drop --dataset")
        return self.labelled(folder, splits)

    def known(self, plan: Plan, example: Example) -> Known:
        """The example's class, and whether the decoder has seen it.

        The class is no true answer if the model answers in other words than the data set's and has none for it.
        """
        label, answers = example.label, plan.bound.labels
        has_word = label in answers or set(answers) <= set(self.classes)
        is_seen = label in plan.trained_on if label is not None and plan.trained_on else None
        return Known(label if has_word else None, is_seen)

    def scope(self, query: Query) -> str:
        """The world in a few words: "digits that mnist-vae draws, trained without 3"."""
        generator = query.generator
        words = f"{self.things} that {self.name} draws"
        if generator.without:
            return f"{words}, trained without {', '.join(generator.without)}"
        return f"{words}, trained on {', '.join(generator.classes)} alone" if generator.classes else words

    def are_distinct(self, z: Floats, other: Floats) -> bool:
        """Apply the rule stated in RULE."""
        return float(np.linalg.norm(z - other)) > APART

    def words(self, z: Floats) -> str:
        """The latent's coordinates, to two digits."""
        return f"Picture drawn by {self.name} from the latent ({', '.join(f'{v:.2f}' for v in z)})"

    def judge(self, resolved: ResolvedQuery, z: Floats, answer: str) -> Judgment:
        """The truth about a drawn picture is unknown, except that it cannot show a class that the decoder never saw."""
        return Judgment(None, True) if answer in self._unseen(resolved) else NOT_KNOWN

    def remarks(self, resolved: ResolvedQuery) -> tuple[str, ...]:
        """The classes that no picture of this world can show, if there are any."""
        unseen = [answer for answer in resolved.question.answers if answer in self._unseen(resolved)]
        return tuple(
            f"The decoder was trained without {answer}: it never saw one, so every picture here that the model calls "
            f"{answer} is a failure by construction."
            for answer in unseen
        )

    def summaries(self, resolved: ResolvedQuery, like: Floats) -> Mapping[str, Summary]:
        """Confidence, log weight, each coordinate, and the distance from the origin."""
        found: dict[str, Summary] = dict(basic_summaries(resolved.target))
        for k in range(like.size):
            found[f"latent {k + 1}"] = partial(_coordinate, k=k)
        found["distance from the origin"] = lambda draw: float(np.linalg.norm(draw.z))
        return found

    def _unseen(self, resolved: ResolvedQuery) -> tuple[str, ...]:
        """The classes that the decoder has never seen; "even" is none, whatever the model means by it."""
        seen = resolved.trained_on
        return tuple(name for name in self.classes if seen and name not in seen)


def with_names(query: Query, labels: tuple[str, ...], classes: tuple[str, ...]) -> Query:
    """The query with class numbers replaced by names, unless the numbers are names themselves."""

    def name(answer: str) -> str:
        is_number = answer not in labels and answer.isdecimal() and int(answer) < len(classes)
        return classes[int(answer)] if is_number else answer

    target = query.target
    shares = {name(answer): share for answer, share in target.probabilities.items()}
    named = target.model_copy(update={"probabilities": shares})
    answers = tuple(name(answer) for answer in query.answer)
    return query.model_copy(update={"answer": answers, "target": named})


def _open(parts: VectorParts, plan: Plan) -> OpenWorld:
    """The plan with its decoder as renderer."""
    proposal = make_proposal(plan.prior, plan.query.search, "vector")
    probed = probe_probabilities_of(plan.bound)
    provenance = Provenance(model=parts.model_key, probe_probabilities=probed, renderer=parts.renderer.key)
    scorer = Scorer(parts.renderer, plan.bound)
    return OpenWorld(plan, proposal, scorer, parts.renderer, provenance, parts.size, parts.differentiable)


def _check_sections(name: str, query: Query) -> None:
    """Raise InputError if the query uses sections that only CLEVR's world has."""
    if query.question.strip() or query.program:
        raise InputError(
            f"question = {query.question!r}: a classifier of {name!r} answers one question only, which class a "
            "picture shows; remove question and program, and name the classes in answer"
        )
    if query.wrong:
        raise InputError(
            f"wrong = true needs scenes whose true answer is known; pictures of {name!r} have none"
        )
    if query.scene != SceneSection():
        raise InputError(
            f"[scene] belongs to the generator 'clevr'; {name!r} has no objects; remove the section"
        )
    if query.render != RenderSection():
        raise InputError(
            f"[render] belongs to the generator 'clevr'; {name!r} has no presets; remove the section"
        )


def _coordinate(draw: Draw[Floats], k: int) -> float:
    return float(draw.z[k])
