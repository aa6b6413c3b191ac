"""Questions in English: `parse` reads one as a program, `phrase` puts a program into words."""

from scenes.english_parse import parse
from scenes.english_phrase import phrase

__all__ = ["parse", "phrase"]
