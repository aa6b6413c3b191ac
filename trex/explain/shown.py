"""Explanations as people see them: in a line, in sentences, and in notebooks."""

from __future__ import annotations

from dataclasses import dataclass

from trex.explain.explanation import Explanation
from trex.explain.words import effect_table, sentence, sentences
from trex.pages.notebook_html import block_html


@dataclass(frozen=True, repr=False)
class ShownExplanation(Explanation):
    """An explanation that says what it found."""

    def __repr__(self) -> str:
        return f"<Explanation of {self.picture[:8]}: {sentence(self)}>"

    def __str__(self) -> str:
        """All sentences, and the effect of leaving out each object."""
        return "\n".join([*sentences(self), *effect_table(self, self.removals, "").text("  ")])

    def _repr_html_(self) -> str:
        """The sentences, and the effect of leaving out each object, for notebooks."""
        first, *others = sentences(self)
        table = effect_table(self, self.removals, "").html("Each object left out")
        return block_html(first, others, [str(table)], f"hit {self.picture}")
