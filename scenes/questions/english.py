"""Questions in English: `parse` reads one as a program, `phrase` writes a program as a question."""

from trex.scenes.questions.english_parse import parse
from trex.scenes.questions.english_phrase import phrase

__all__ = ["parse", "phrase"]
