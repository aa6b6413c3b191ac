"""What a query would do, without rendering anything: the output of `trex check` and the result of `trex.check`."""

from __future__ import annotations

import json
from dataclasses import dataclass

from trex.foundation.words import rough_span
from trex.pages.notebook_html import block_html
from trex.pages.table import table_of
from trex.query.question import named_answers
from trex.query.schema import Query
from trex.search.render_speed import MAX_LARGE, Duration, estimate, large_s, most_large, pictures_again
from trex.search.sampling.budget import most_pictures
from trex.worlds.latents import SCENES
from trex.worlds.registry import model_shown
from trex.worlds.world import Plan, size_without_blender


@dataclass(frozen=True, repr=False)
class QueryCheck:
    """A query with every value checked.

    `answers` are all that the question can have; `target`, `world` and `renders` are descriptions. `model` names
    the opened model. `renders_at_most` counts pictures at the deciding preset, `cheap_at_most` those at cheaper ones;
    `takes` is an upper bound on their time, None if it is unknown. `control_at_most` and `control_cheap_at_most` count
    the further ones of the positive control that a search makes if it finds nothing, `large_at_most` the large pictures
    of hits that `trex find` then renders for the page, `again_at_most` the pictures that say how far they hold, which
    take `again_takes`. `notes`: what to know before a search, such as a model that
    gives no answers.
    """

    query: Query
    question: str
    answers: tuple[str, ...]
    target: str
    world: str
    model: str
    renders: str
    renders_at_most: int
    cheap_at_most: int
    control_at_most: int
    control_cheap_at_most: int
    takes: Duration | None
    large_at_most: int = 0
    again_at_most: int = 0
    again_takes: Duration | None = None
    notes: tuple[str, ...] = ()
    name: str = ""  # the file of the query, if it has one

    @property
    def _others(self) -> str:
        """The pictures at cheaper presets and those of the control, in words."""
        cheap = f"; and {self.cheap_at_most:,} at cheaper presets" if self.cheap_at_most else ""
        if not self.control_at_most:
            return cheap
        inner = (
            f", and {self.control_cheap_at_most:,} at cheaper presets" if self.control_cheap_at_most else ""
        )
        return f"{cheap}; if nothing is found, up to {self.control_at_most:,} more for the positive control{inner}"

    @property
    def seconds_at_most(self) -> float | None:
        """An upper bound on the search's duration in seconds, None if it is unknown."""
        return self.takes.seconds if self.takes else None

    @property
    def large_seconds_at_most(self) -> float:
        """An upper bound on the further seconds that the large pictures of hits take."""
        return large_s(self.large_at_most)

    @property
    def _time(self) -> str:
        """The durations of the search and of the large pictures, in words."""
        time = f"at most {self.takes.sentence()}" if self.takes else "unknown: no such query has run yet"
        parts = []
        if self.large_at_most:
            more = f"about {rough_span(self.large_seconds_at_most)} more"
            parts.append(
                f"large pictures of up to {self.large_at_most} hits take {more} (--no-large skips them)"
            )
        if self.again_takes:
            more = f"about {rough_span(self.again_takes.seconds)} more"
            far = f"{self.again_at_most} pictures of how far they hold"
            parts.append(f"{far} take {more} (--no-explain skips them)")
        return "; ".join((time, *parts))

    def __repr__(self) -> str:
        """The question, the kind of target and the bounds on one line; `str` has everything."""
        target = " ".join((self.query.target.kind, *named_answers(self.query)))
        time = f", about {rough_span(self.takes.seconds)}" if self.takes else ""
        most = f"at most {self.renders_at_most:,} renders{time}"
        return f"<QueryCheck: {self.question!r}, target {target}, {most}; print it for all>"

    def __str__(self) -> str:
        """The text that `trex check` prints."""
        head = [f"{self.name} is valid; nothing was rendered"] if self.name else []
        return "\n".join([*head, *(f"{name:8}  {words}" for name, words in self._rows)])

    def _repr_html_(self) -> str:
        """The same as a table, for notebooks."""
        rows = table_of("What the query would do", ("", ""), self._rows)
        return block_html(self.question, [], [str(rows.html(rows.label))], "nothing was rendered")

    @property
    def _rows(self) -> list[tuple[str, str]]:
        """What the query asks and would do, each with its name."""
        name = model_shown(self.query, self.model)
        model = name if self.model == name else f"{name} ({self.model})"
        rows = {
            "question": f"{self.question}  (answers: {', '.join(self.answers)})",
            "target": self.target,
            "world": self.world,
            "model": model,
            "renders": f"at most {self.renders_at_most:,}: {self.renders}{self._others}",
            "time": self._time,
        }
        return [*rows.items(), *(("warning", note) for note in self.notes)]

    def document(self) -> dict[str, object]:
        """What `trex check --json` prints."""
        return {
            "query": json.loads(self.query.model_dump_json()),
            "renders_at_most": self.renders_at_most,
            "cheap_at_most": self.cheap_at_most,
            "control_at_most": self.control_at_most,
            "control_cheap_at_most": self.control_cheap_at_most,
            "seconds_at_most_about": self.seconds_at_most,
            "large_at_most": self.large_at_most,
            "large_seconds_at_most_about": self.large_seconds_at_most,
            "again_at_most": self.again_at_most,
            "again_seconds_at_most_about": self.again_takes.seconds if self.again_takes else None,
            "warnings": self.notes,
        }


def check_plan(plan: Plan, name: str = "") -> QueryCheck:
    """The description of a plan, of the query in the file of this name."""
    render, is_scenes = plan.query.render, plan.world.form is SCENES
    again = (
        MAX_LARGE * pictures_again(render) if is_scenes and size_without_blender(render.preset) is None else 0
    )
    most = most_pictures(plan.query)
    return QueryCheck(
        query=plan.query,
        question=plan.question.text,
        answers=plan.question.possible,
        target=plan.target.hit_words,
        world=plan.outline.world,
        model=plan.model_name,
        renders=plan.outline.renders,
        renders_at_most=most.deciding,
        cheap_at_most=most.cheap,
        control_at_most=most.control,
        control_cheap_at_most=most.control_cheap,
        takes=estimate(plan.query, most.deciding, most.cheap, most.cheap_cpu_s),
        large_at_most=most_large(plan),
        again_at_most=again,
        again_takes=estimate(plan.query, again) if again else None,
        notes=plan.notes,
        name=name,
    )
