"""A question as models receive it: English text and CLEVR's functional program, whose words are checked."""

from __future__ import annotations

from dataclasses import dataclass

from trex.foundation.errors import InputError, unknown
from trex.foundation.json_fields import short
from trex.scenes.graph import RELATIONS
from trex.scenes.questions.functions import FUNCTIONS
from trex.scenes.questions.programs import Program, check_program
from trex.scenes.vocabulary import CLEVR


@dataclass(frozen=True)
class Question:
    """The question, twice: as text (may be empty for a model that reads programs) and as program."""

    text: str
    program: Program


ATTRIBUTE_VALUES: dict[str, tuple[str, ...]] = {
    "shape": CLEVR.shapes,
    "size": CLEVR.sizes,
    "color": CLEVR.colors,
    "material": CLEVR.materials,
}
# The words of each function. CLEVR's programs never compare two objects, so its models have no equal_object.
FUNCTION_WORDS: dict[str, tuple[str, ...]] = {
    name: {**ATTRIBUTE_VALUES, "relation": RELATIONS}.get(function.word, ())
    for name, function in FUNCTIONS.items()
    if name != "equal_object"
}


def check_readable(program: Program) -> None:
    """Raise InputError if the program is malformed, or has a function or a word that CLEVR's models lack."""
    check_program(program)
    for index, step in enumerate(program):
        if step.function not in FUNCTION_WORDS:
            raise unknown(f"function of step {index}", step.function, FUNCTION_WORDS)
        words = FUNCTION_WORDS[step.function]
        if words and step.value_inputs[0] not in words:
            raise InputError(
                f"step {index} ({step.function}) asks for {short(step.value_inputs[0])}, and the model has words for "
                f"{', '.join(words)} only; ask without that word, or test a model that takes English"
            )
