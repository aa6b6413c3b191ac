"""`trex.audit`: how a model fails, from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path

from trex.api.arguments import model_argument
from trex.api.audit_search import audit_search
from trex.api.stopped import Stopped
from trex.auditing import defaults
from trex.auditing.judging.findings import Finding
from trex.auditing.judging.not_found import LookedFor
from trex.auditing.perform import AuditOptions, Performed, perform
from trex.auditing.plan import Sizes
from trex.auditing.reporting.words import headline
from trex.clevr_models.adapters.live import session_model_available
from trex.clevr_models.interface.options import ModelOptions
from trex.pages.display import display_if

AnyPath = str | PathLike[str]


@dataclass(frozen=True)
class AuditResult:
    """A finished audit; its folder has the page, all answers and the pictures."""

    performed: Performed

    @property
    def path(self) -> Path:
        """The audit's folder."""
        return self.performed.done.folder

    @property
    def page(self) -> Path:
        """The path of `report.html`."""
        return self.performed.page

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        return headline(self.performed.done)

    @property
    def families(self) -> tuple[Finding, ...]:
        """The confirmed failure families, the most harmful first."""
        return self.performed.done.confirmed

    @property
    def rejected(self) -> tuple[Finding, ...]:
        """The rules that the held-out scenes did not confirm."""
        return tuple(one for one in self.performed.done.findings if not one.is_confirmed)

    @property
    def looked_for(self) -> LookedFor:
        """The kinds of confident mistakes that were looked for, and bounds on those that no held-out scene shows."""
        return self.performed.done.looked_for

    def document(self) -> dict[str, object]:
        """All figures, as in `report.json`."""
        return self.performed.document()

    def __str__(self) -> str:
        """The text that `trex audit` prints."""
        return "\n".join(self.performed.lines())


def audit(
    model: object,
    *,
    world: AnyPath = defaults.WORLD,
    budget: float | None = None,
    scenes: int = defaults.SCENES,
    held_out: int = defaults.HELD_OUT,
    questions: int = defaults.QUESTIONS,
    look: str = defaults.LOOK,
    deciding: str = defaults.DECIDING,
    sure: float = defaults.SURE,
    tested: int = defaults.TESTED,
    probed: int = defaults.PROBED,
    fresh: int = 0,
    seed: int = 0,
    weigh: Mapping[str, float] | None = None,
    families: Sequence[str] = (),
    processes: int | None = None,
    bank: AnyPath | None = None,
    out: AnyPath | None = None,
    junit: AnyPath | None = None,
    searched: int = 0,
    beside: AnyPath | None = None,
    endpoint: str = "",
    max_requests: int | None = None,
    trust_remote_code: bool = False,
    progress: bool = True,
) -> AuditResult:
    """Find the failure families of a CLEVR model: what it misreads, when and how often.

    The keywords are the options of `trex audit` (docs/AUDIT.md), without --join; `weigh={"missed": 3}` sets the harm of
    a symptom. `model` is a name or an object of this session, as for `trex.find`. If `out` (runs/audit-MODEL if not
    given) holds the same audit, it is resumed; a finished one is only read.

    Raises InputError (an option, before anything is rendered), ModelError and RenderError, RunError (the folder), and
    Stopped, a KeyboardInterrupt, on Ctrl-C: every answer is then kept.
    """
    name, live_model = model_argument(model)
    options = AuditOptions(
        world=Path(fspath(world)),
        budget=budget,
        sizes=Sizes(scenes, held_out, questions, tested),
        look=look,
        deciding=deciding,
        sure=sure,
        seed=seed,
        weigh=tuple(f"{key}={value}" for key, value in (weigh or {}).items()),
        families=(families,) if isinstance(families, str) else tuple(families),
        processes=processes,
        bank=_path(bank),
        out=_path(out),
        junit=_path(junit),
        probed=probed,
        fresh=fresh,
        searched=searched,
        beside=_path(beside),
        model=ModelOptions(endpoint=endpoint, max_requests=max_requests, trust_remote_code=trust_remote_code),
    )
    folders: list[Path] = []
    with session_model_available(live_model), display_if(progress) as display:
        try:
            return AuditResult(perform(name, options, display.show, audit_search(display), folders.append))
        except KeyboardInterrupt:
            advice = "every answer is kept, and the same call resumes"
            raise Stopped(folders[0] if folders else None, advice) from None


def _path(path: AnyPath | None) -> Path | None:
    return None if path is None else Path(fspath(path))
