"""Questions in English: `parse` reads one as a program, `phrase` writes a program as a question, `wordings` in other
words too.

`reading` joins the steps: `sentence` holds the words and names those at fault, `things` and `forms` are the grammar
(what is described, what is asked about it), `tree` is what they give, `meaning` turns it into a program.
"""

from trex.scenes.questions.english.meaning import parse
from trex.scenes.questions.english.phrasing import phrase, wordings

__all__ = ["parse", "phrase", "wordings"]
