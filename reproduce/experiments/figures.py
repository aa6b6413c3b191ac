"""The figures of an experiment: the spread of the answers' probabilities, and the level set among the latents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduce.experiments.experiment import LEAST, CellResult
from trex.inference.types import Floats
from trex.pages.figures import COLORS, INK, axes_of, styled, svg_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPREAD = 1e-6  # a smaller spread gives no density estimate
MAX_LATENTS = 300  # latents of each kind in the plot
PERPLEXITY = 30.0
SEED = 0


class Group(NamedTuple):
    """Latents (n, d) of one kind, and how they are drawn."""

    name: str
    vectors: Floats
    color: str
    mark: str


def violins(result: CellResult) -> str:
    """Violin plots of the named answers' probabilities over the level set; "" for too few draws."""
    if not has_violins(result):
        return ""
    with styled():
        figure, axes = axes_of("", "probability")
        draw_violins(axes, result, COLORS)
        return svg_of(figure)


def has_violins(result: CellResult) -> bool:
    """Whether a cell was found and has enough draws for violins."""
    return bool(result.shown) and result.effective_size >= LEAST


def draw_violins(axes: Axes, result: CellResult, colors: Sequence[str]) -> None:
    """Draw the violins of a cell, with a dot at each mean."""
    probs = result.probs[list(result.shown)]
    places = np.arange(probs.shape[1])
    for place in places:
        column, color = probs[:, place], colors[int(place) % len(colors)]
        if column.std() > SPREAD:
            axes.violinplot([column], [float(place)], widths=0.8, showextrema=False)
            body = axes.collections[-1]  # that of the one violin
            body.set_facecolor(color)
            body.set_alpha(0.5)
        axes.plot([place], [column.mean()], "o", markersize=4, color=color)
    axes.set_xticks(places, labels=list(result.answers))
    axes.set_ylim(-0.03, 1.03)


def latent_plane(result: CellResult) -> str:
    """Latents in the plane by t-SNE (van der Maaten and Hinton 2008); "" if latents are not vectors."""
    groups = latent_groups(result, COLORS, INK)
    if not groups:
        return ""
    with styled():
        figure, axes = axes_of("", "")
        draw_plane(axes, groups)
        return svg_of(figure)


def latent_groups(result: CellResult, colors: Sequence[str], rest_color: str) -> Sequence[Group]:
    """Draws of the level set; prior draws whose most probable answer is a named one; other prior draws.

    Empty groups are left out; none are given if latents are not vectors.
    """
    prior = result.results.prior
    if not result.draws or not isinstance(result.draws[0].z, np.ndarray):
        return ()
    labels = result.manifest.facts.labels
    answers = [labels[int(np.argmax(draw.state.log_probs))] for draw in prior]
    groups = [Group("level set", _vectors([result.draws[i].z for i in result.shown]), colors[0], "o")]
    for place, answer in enumerate(result.manifest.query.answer, start=1):
        rows = [draw.z for draw, word in zip(prior, answers, strict=True) if word == answer]
        groups.append(Group(f"prior, {answer}", _vectors(rows), colors[int(place) % len(colors)], "s"))
    others = [d.z for d, word in zip(prior, answers, strict=True) if word not in result.manifest.query.answer]
    groups.append(Group("prior, another answer", _vectors(others), rest_color, "."))
    return [group for group in groups if len(group.vectors)]


def draw_plane(axes: Axes, groups: Sequence[Group]) -> None:
    """Draw latents in the plane, the first group on top."""
    points = _plane(np.concatenate([group.vectors for group in groups]))
    end = len(points)
    for name, vectors, color, mark in reversed(groups):
        part = points[end - len(vectors) : end]
        axes.plot(part[:, 0], part[:, 1], mark, markersize=3, color=color, alpha=0.7, label=name)
        end -= len(vectors)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.legend(fontsize=7, frameon=False)


def _plane(vectors: Floats) -> Floats:
    from sklearn.manifold import TSNE

    perplexity = min(PERPLEXITY, max(1.0, (len(vectors) - 1) / 3))
    found: Floats = TSNE(perplexity=perplexity, random_state=SEED, init="pca").fit_transform(vectors)
    return found


def _vectors(rows: Sequence[object]) -> Floats:
    """At most MAX_LATENTS distinct vectors, evenly spaced: a rejected step repeats the chain's state."""
    rows = list({np.asarray(row).tobytes(): row for row in rows}.values())
    kept: NDArray[np.int64] = np.unique(
        np.linspace(0, len(rows) - 1, min(MAX_LATENTS, len(rows))).astype(np.int64)
        if rows
        else np.zeros(0, np.int64)
    )
    return np.array([np.asarray(rows[int(k)], float) for k in kept])
