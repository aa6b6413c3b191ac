"""English questions read as programs: CLEVR's phrasings of its 90 families, and what their parts combine to."""

from __future__ import annotations

from trex.foundation.errors import InputError
from trex.scenes.questions.english.forms import question
from trex.scenes.questions.english.lexicon import EXAMPLES
from trex.scenes.questions.english.meaning import program_of
from trex.scenes.questions.english.sentence import Sentence, normalize
from trex.scenes.questions.programs import Program, check_program
from trex.scenes.vocabulary import CLEVR, Vocabulary

MAX_LENGTH = 1000


def parse(text: str, vocabulary: Vocabulary = CLEVR) -> Program:
    """The program of an English question; InputError names the words that are not understood."""
    if len(text) > MAX_LENGTH:
        raise InputError(f"the question is longer than {MAX_LENGTH} characters: it has {len(text)}")
    if not normalize(text):
        raise InputError(f"the question is empty; write e.g. {EXAMPLES}")
    program = program_of(question(Sentence(text, vocabulary)))
    check_program(program)
    return program
