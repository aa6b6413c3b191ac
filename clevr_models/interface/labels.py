"""The names of a model's answers, in the order of its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trex.clevr_models.interface.answers import ANSWERS
from trex.foundation.errors import InputError
from trex.foundation.json_fields import short

if TYPE_CHECKING:  # importing torch takes seconds
    from trex.clevr_models.interface.bound import BoundModel, ClevrModel
    from trex.clevr_models.interface.question import Question

LONGEST = 200  # characters of an answer's name
LEAST = 2  # answers: of one, every softmax is sure
PAIR = 'labels = ["no", "yes"]'
TWO = (
    f"return two columns for no and yes, and {PAIR}: logits torch.cat([0 * z, z], dim=1) of an output z (B, 1) before "
    "its sigmoid, or, as a callable, np.stack([1 - p, p], axis=1) of probabilities p (B,)"
)


def bound_to(model: ClevrModel, question: Question) -> BoundModel:
    """The model with its question; InputError if it cannot read that, or if it does not name its answers in order."""
    bound = model.bind(question)
    checked_labels(model.name, bound.labels)
    return bound


def columns(labels: Sequence[str]) -> str:
    """What an error says of the columns that a model gives: its answers, or how to name them."""
    if tuple(labels) == ANSWERS:
        return "or name its answers in `labels`"
    return f"a column for each of its answers ({', '.join(labels)})"


def one_output(labels: Sequence[str], *, is_choice: bool) -> str:
    """What to do with a model that gives one value a picture, "" if the shape that it must give says all.

    `is_choice`: the value is the chosen answer or its place.
    """
    if is_choice:
        return "; return what the model gives every answer, not the answer that it chooses (no argmax)"
    return f"; it has one output: {TWO}" if len(labels) == LEAST or tuple(labels) == ANSWERS else ""


def checked_labels(name: str, labels: object) -> tuple[str, ...]:
    """The names of a model's answers; InputError unless they are a list of at least two different texts.

    A set has another order in each process, a dictionary's keys may be numbers, a generator is empty the second time,
    and the text of what is no name ("False", "Color.RED") is no answer.
    """
    if isinstance(labels, str | bytes) or not isinstance(labels, Sequence):
        raise InputError(
            f"model {name!r}: its labels are {type(labels).__name__}; they must be a list of names in the order of "
            f"the outputs, such as {PAIR}"
        )
    strange = next((item for item in labels if not isinstance(item, str)), None)
    if strange is not None:
        raise InputError(
            f"model {name!r}: its labels hold values of type {type(strange).__name__}; they must be a list of names "
            f"(texts), such as {PAIR}"
        )
    names = tuple(str.__str__(item) for item in labels)
    twice = next((item for item in names if names.count(item) > 1), None)
    if not names or twice is not None:
        wrong = "are empty" if twice is None else f"name the answer {short(twice)} twice"
        raise InputError(f"model {name!r}: its labels {wrong}")
    if len(names) < LEAST:
        raise InputError(
            f"model {name!r} has one answer, {short(names[0])}, of which it would always be sure; a model needs at "
            f"least {LEAST} answers: {TWO}"
        )
    odd = next((item for item in names if not item.isprintable() or not 0 < len(item) <= LONGEST), None)
    if odd is not None:
        raise InputError(
            f"model {name!r} names the answer {short(odd)}; an answer has 1 to {LONGEST} printable characters"
        )
    return names
