"""The implementation of `trex check "QUESTION"`: how a question is read."""

from __future__ import annotations

from trex.commands.shell.result import Printed
from trex.foundation.errors import InputError
from trex.scenes.questions.english import parse, phrase
from trex.scenes.questions.family_forms import family_of, program_lines
from trex.scenes.questions.program_json import program_to_json
from trex.scenes.questions.programs import Program, possible_answers


def read_question(text: str) -> Printed:
    """A question's family, answers, program and usual wording; InputError if it is none."""
    program = parse(text)
    family, ours, answers = family_of(program), _phrased(program), possible_answers(program)
    document = {
        "question": text,
        "family": family and {"index": family.index, "name": family.name},
        "phrased": ours,
        "answers": list(answers),
        "program": program_to_json(program),
    }
    name = (
        f"{family.name} (number {family.index + 1} of CLEVR's 90, index {family.index})"
        if family
        else "none of CLEVR's 90"
    )
    lines = [
        f"the question is understood; nothing was rendered\nquestion  {text}",
        f"reworded  {ours or 'not among the phrasings of trex'}",
        f"family    {name}",
        f"answers   {', '.join(answers)}",
        *(f"{'program' if at == 0 else '':8}  {line}" for at, line in enumerate(program_lines(program))),
    ]
    return Printed(document, "\n".join(lines))


def _phrased(program: Program) -> str | None:
    try:
        return phrase(program)
    except InputError:
        return None
