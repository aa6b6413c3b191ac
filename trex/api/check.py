"""What a query would do, without rendering anything: what `trex check` prints and `trex.check` returns."""

from __future__ import annotations

from dataclasses import dataclass

from trex.query.schema import Query
from trex.search.render_speed import Estimate, estimate
from trex.worlds.world import Plan


@dataclass(frozen=True)
class QueryCheck:
    """A query whose every word has been checked.

    `answers` are all that the question can have; `target`, `world` and `renders` are words. `model` is what was opened.
    `renders_at_most` counts pictures; `takes` is the time that they take at most, None if nothing is known of it.
    """

    query: Query
    question: str
    answers: tuple[str, ...]
    target: str
    world: str
    model: str
    renders: str
    renders_at_most: int
    takes: Estimate | None

    @property
    def seconds_at_most(self) -> float | None:
        """Estimated seconds of the whole search, None if not known."""
        return self.takes.seconds if self.takes else None

    def __str__(self) -> str:
        """As `trex check` prints it."""
        time = f"at most {self.takes.sentence()}" if self.takes else "not known yet for such a query"
        named = self.query.model.name
        model = named if self.model == named else f"{named} ({self.model})"
        rows = {
            "question": f"{self.question}  (answers: {', '.join(self.answers)})",
            "target": self.target,
            "world": self.world,
            "model": model,
            "renders": f"at most {self.renders_at_most:,}: {self.renders}",
            "time": time,
        }
        return "\n".join(f"{name:8}  {words}" for name, words in rows.items())


def checked(plan: Plan) -> QueryCheck:
    """The description of a plan."""
    search = plan.query.search
    most = search.prior_scenes + search.chains * search.steps
    return QueryCheck(
        query=plan.query,
        question=plan.question.text,
        answers=plan.question.possible,
        target=plan.target.describe(),
        world=plan.outline.world,
        model=plan.model_name,
        renders=plan.outline.renders,
        renders_at_most=most,
        takes=estimate(plan.query, most),
    )
