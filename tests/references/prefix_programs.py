"""Programs from the prefix lists of tokens that the released CLEVR models write."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trex.clevr_models.iep.vocabulary import calls_of
from trex.clevr_models.interface.question import check_readable
from trex.scenes.questions.programs import Program, Step

TOKEN = re.compile(r"(\w+)(?:\[(\w+)\])?")


def from_prefix(tokens: Sequence[str]) -> Program:
    """The program of the tokens of one whole program, inputs before their users."""
    calls = calls_of(tokens)
    assert len(calls) == len(tokens), "neither incomplete nor with tokens after its end"
    found = [(TOKEN.fullmatch(call.token), call.inputs) for call in calls]
    program = tuple(
        Step(match[1], inputs, (match[2],) if match[2] else ()) for match, inputs in found if match
    )
    check_readable(program)
    return program
