"""Checks on the draws of a run, line after line: in order, none missing or doubled, every number possible."""

from __future__ import annotations

import math
import re
from collections import defaultdict

from trex.foundation.errors import RunError, unknown
from trex.inference.nuts.options import DEPTH, FIGURES
from trex.inference.types import PRIOR_CHAIN
from trex.runs.manifest import Manifest
from trex.runs.record import CALIBRATION, CHAIN, CONTROLS, INDEPENDENT, Record
from trex.worlds.latents import VECTORS, Form, Latent, form_of

NORMALIZED = 1.1e-3  # how far a sum of probabilities may be from 1; inference.scoring allows less
PICTURE = re.compile("[0-9a-f]{32}")
MAX_LOOKS = 100  # of a ladder


class DrawChecks:
    """Checks a log from its first line on; without a manifest, only what needs none."""

    def __init__(self, manifest: Manifest | None) -> None:
        self._chains = manifest.query.search.chains if manifest else None
        self._answers = len(manifest.facts.labels) if manifest else None
        self._form: Form[Latent] | None = manifest.world.form if manifest else None
        self._shapes = {card.name for card in manifest.facts.cards} if manifest else None
        self._length: int | None = None  # length of the vectors
        self._next: dict[tuple[str, int], int] = defaultdict(int)

    def take(self, record: Record) -> None:
        """Check the draw of the next line; RunError describes what is impossible."""
        self._check_place(record)
        if record.is_rendered:
            self._check_score(record)
            self._check_objects(record)
        elif record.is_copy and record.phase not in INDEPENDENT:
            self._check_score(record)
            if not record.is_accepted or record.picture or record.visible:
                raise RunError(
                    "a copied state must be accepted and must not have a picture of its own; this one is not or has one"
                )
        else:
            _check_invalid(record)
        self._check_latent(record.z)
        self._check_line(record)
        if record.picture and not PICTURE.fullmatch(record.picture):
            raise RunError(f"picture {record.picture[:40]!r} is not a content hash")

    def _check_place(self, record: Record) -> None:
        phase, chain, index = record.key
        known = (*INDEPENDENT, CHAIN, *CONTROLS)
        if phase not in known:
            raise RunError(f"phase {phase[:40]!r} is not known ({', '.join(known)})")
        if phase in INDEPENDENT:
            least = 1 if phase == CALIBRATION else 0  # the bank was scored at look 0
            is_known = record.chain == PRIOR_CHAIN and least <= record.rank < MAX_LOOKS
        else:
            is_known = chain >= 0 and (self._chains is None or chain < self._chains)
        if not is_known:
            raise RunError(f"phase {phase} of this run has no chain {chain}")
        due = self._next[phase, chain]
        if index != due:
            raise RunError(f"index {index} of {phase} {chain} is out of order: expected index {due}")
        self._next[phase, chain] = due + 1

    def _check_score(self, record: Record) -> None:
        total = sum(math.exp(min(value, 700.0)) for value in record.log_probs)
        if not abs(total - 1.0) <= NORMALIZED:
            raise RunError(f"log_probs are not a distribution: the probabilities sum to {total:.6g}, not 1")
        self._answers = self._answers or len(record.log_probs)
        if len(record.log_probs) != self._answers:
            raise RunError(f"log_probs has {len(record.log_probs)} answers, the run has {self._answers}")
        if not math.isfinite(record.log_prior) or record.log_weight == math.inf:
            raise RunError(
                f"log_prior {record.log_prior} or log_weight {record.log_weight} is impossible for a rendered draw"
            )
        if record.phase in INDEPENDENT and not record.is_accepted:
            raise RunError(f"a {record.phase} draw must be accepted, this one is not")

    def _check_line(self, record: Record) -> None:
        line = record.figures.get("line", 0)
        if not (isinstance(line, int) and line >= 0 and (self._chains is None or line < self._chains)):
            raise RunError(f"line {line} of chain {record.chain} is not a start of this run")
        if DEPTH not in record.figures:
            return
        if not record.figures.keys() >= set(FIGURES):
            raise RunError(f"a trajectory has {', '.join(FIGURES)}; this one lacks one of them")
        if form_of(record.z) is not VECTORS:
            raise RunError(
                f"it has {form_of(record.z)} and the figures of a trajectory, which only vectors have"
            )

    def _check_objects(self, record: Record) -> None:
        objects = form_of(record.z).objects(record.z)
        if len(record.visible) != len(objects):
            raise RunError(f"visible has {len(record.visible)} numbers for {len(objects)} objects")

    def _check_latent(self, z: Latent) -> None:
        form = form_of(z)
        if self._form not in (None, form):
            raise RunError(f"it has {form}, unlike the other draws of this run")
        self._form = form
        for item in form.objects(z):
            if self._shapes is not None and item.shape not in self._shapes:
                raise RunError(str(unknown("shape", item.shape, sorted(self._shapes))))
        if form is not VECTORS:
            return
        self._length = len(z) if self._length is None else self._length
        if len(z) != self._length:
            raise RunError(f"z has {len(z)} numbers, the draws before have {self._length}")


def _check_invalid(record: Record) -> None:
    """Check a latent that was not rendered because it is invalid."""
    if record.phase in INDEPENDENT:
        raise RunError(f"a {record.phase} draw must have log_probs")
    if record.is_accepted or record.log_prior != -math.inf or record.log_weight != -math.inf:
        raise RunError(
            "a draw without log_probs was not rendered, so it must not be accepted or have a weight"
        )
