"""A whole audit, from its options to its page: what the command and the Python API both do."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trex.auditing.audit import Audit, audit, begun_only
from trex.auditing.by_kind import LookedFor, not_found_words
from trex.auditing.compare import Beside, beside, beside_words, read_other
from trex.auditing.document import cases, document
from trex.auditing.examine import is_of
from trex.auditing.judging.confirm import SHOWN, TRIED
from trex.auditing.judging.findings import Finding, rate_words
from trex.auditing.judging.reword import wordings_words
from trex.auditing.leads import Lead, leads_words, write_leads
from trex.auditing.options import MAX_SCENES, AuditOptions
from trex.auditing.page import write_beside, write_report
from trex.auditing.probe import CHANGES
from trex.auditing.rare.choice import DRAWN
from trex.auditing.rare.narrow import ENOUGH
from trex.auditing.rare.steps import NARROWING_PART, SOUGHT_IN, SOUGHT_IN_SPARSE
from trex.auditing.records import Settings, read_settings
from trex.auditing.side_by_side import SideBySide, read_findings, side_by_side
from trex.auditing.work import MANIFEST, Crew, Work
from trex.bank.named import bank_world, world_query
from trex.clevr_models.interface.bound import ClevrModel
from trex.clevr_models.interface.labels import bound_to
from trex.clevr_models.interface.question import Question
from trex.families.symptom import SYMPTOMS
from trex.foundation.errors import InputError, unknown
from trex.foundation.files import from_here
from trex.foundation.junit import check_junit, write_junit
from trex.foundation.progress import Progress
from trex.pages.notebook_html import block_html
from trex.query.schema import RenderSection, SceneSection
from trex.query.shape_cards import named_card
from trex.query.verb_options import about_model
from trex.runs.place import RUNS
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.english import parse
from trex.scenes.questions.families import FAMILIES
from trex.worlds.costs import CPU_S
from trex.worlds.fingerprint import probe_probabilities_of, weights_fingerprint
from trex.worlds.world import open_model, picture_size

ASKING_S = 0.3  # drawing a scene, its id maps, 50 questions to the shipped model
EXPECTED_FAMILIES = 8
SWEEP_SHARE = 0.7  # of the budget
SIZES = ("scenes", "held_out", "tested")  # that a budget chooses
MAX_HOURS = 1_000_000
CLOSER = SHOWN * (3 + TRIED)  # renders of a family for the scenes that are looked at more closely
LEAST_SCENES, LEAST_TESTED = 100, 5
DRAWING_S, CHOOSING_S = (
    0.19,
    0.01,
)  # a random scene of 3 to 10 objects, and one of 3 to 8 with its combinations
RARE_PART = 4  # of the scenes that rules are made from, so many for each further one with a rare combination
PROBED = AuditOptions.model_fields["probed"].default


@dataclass(frozen=True, repr=False)
class AuditResult:
    """A finished audit, its page, the leads to further mistakes, and another model's answers if one is compared."""

    done: Audit
    page: Path
    leads: tuple[Lead, ...] = ()
    beside: Beside | None = None
    rows: tuple[SideBySide, ...] = ()  # the findings of both models
    beside_page: Path | None = None

    @property
    def path(self) -> Path:
        """The folder with the page, all answers and the pictures."""
        return self.done.folder

    def placed(self) -> AuditResult:
        """The same with absolute paths."""
        both = self.beside_page and self.beside_page.absolute()
        done = replace(self.done, folder=self.path.absolute())
        return replace(self, done=done, page=self.page.absolute(), beside_page=both)

    @property
    def headline(self) -> str:
        """What was found, in up to three sentences."""
        return self.done.headline

    @property
    def families(self) -> tuple[Finding, ...]:
        """The confirmed failure families, the most harmful first."""
        return self.done.confirmed

    @property
    def rejected(self) -> tuple[Finding, ...]:
        """The rules that the held-out scenes did not confirm."""
        return tuple(each for each in self.done.findings if not each.is_confirmed)

    @property
    def looked_for(self) -> LookedFor:
        """The kinds of confident mistakes that were looked for, and bounds on those that no held-out scene shows."""
        return self.done.looked_for

    def __repr__(self) -> str:
        return f"<Audit {from_here(self.path)}: {self.headline} Print it for all>"

    def _repr_html_(self) -> str:
        """The headline, the families with their rates, and what was not found, for notebooks."""
        families = [" ".join(_sentences(finding)) for finding in self.families]
        return block_html(self.headline, [*families, not_found_words(self.looked_for)], [], str(self.page))

    def __str__(self) -> str:
        """The families, and what was not found, for the terminal."""
        families = [
            line
            for finding in self.done.told
            for line in (
                f"  {' '.join(_sentences(finding))}",
                *(f"    Also: {' '.join(_sentences(each))}" for each in self.done.within(finding)),
            )
        ]
        compared = [beside_words(self.done.settings.model, self.beside)] if self.beside else []
        lines = [
            self.headline,
            *families,
            not_found_words(self.done.looked_for),
            *([leads_words(self.leads)] if self.leads else []),
            *compared,
            f"page: {self.page}",
            *([f"both models: {self.beside_page}"] if self.beside_page else []),
        ]
        return "\n".join(lines)

    def document(self) -> dict[str, object]:
        """All figures, as in `report.json`, and the path of the page."""
        return document(self.done, self.leads, self.beside, self.rows) | {"page": str(self.page)}


def _sentences(finding: Finding) -> list[str]:
    """A family in words: when it fails, how often, and in how many other wordings if any were tried."""
    tried = finding.wordings is not None and finding.wordings.is_read
    return [
        finding.sentence,
        finding.extent,
        f"{rate_words(finding)}.",
        *([wordings_words(finding.wordings)] if tried else []),
    ]


def perform(
    options: AuditOptions,
    progress: Progress,
    on_begin: Callable[[Path], None] = lambda folder: None,
    *,
    work: Work | None = None,
    crew: Crew | None = None,
) -> AuditResult:
    """Audit a model, or resume, and write the page and the JUnit file; `on_begin` receives the folder.

    A farm gives the `work` of the options, and who does it.
    InputError before anything is rendered or written if an option is wrong; errors as from `audit`.
    """
    if options.junit is not None:
        check_junit(options.junit)
    scene = _scene(options)
    work = work or work_of(options)
    if options.beside is not None and options.beside.resolve() == work.folder.resolve():
        raise InputError(
            f"--beside {options.beside} is the folder of this audit; give the audit of another model, or another --out"
        )
    other = None if options.beside is None else read_other(options.beside, work.settings)
    theirs = None if options.beside is None else read_findings(options.beside)
    on_begin(work.folder)
    done = audit(work, progress, crew)
    compared = None
    if other is not None:
        compared = beside(done.held_out, other, done.confirmed, len(done.findings), done.asker)
    leads = write_leads(work.folder, done.hints, options, scene, progress)
    vocabulary = work.prior.vocabulary
    rows = side_by_side(done, compared, other, theirs, vocabulary) if compared and other and theirs else ()
    page = write_report(done, vocabulary, leads, (compared, rows), work.device)
    both = None
    if compared and options.beside:
        both = write_beside(done, compared, rows, options.beside)
    if options.junit is not None:
        write_junit(options.junit, "trex audit", cases(done))
    return AuditResult(done, page, leads, compared, rows, both)


def work_of(options: AuditOptions) -> Work:
    """What these options ask for, checked; nothing is rendered or written."""
    prior = bank_world(options.world)
    if options.budget is not None:
        options = planned(options.budget, options)
    model = open_model(options.model, about_model(options))
    settings = audit_settings(model, prior, options)
    folder = _folder(options)
    bank, processes = options.bank, options.processes
    return Work(
        model,
        settings,
        prior,
        folder,
        bank,
        processes,
        options.probed,
        options.fresh,
        options.device,
        options.wordings,
    )


def _scene(options: AuditOptions) -> SceneSection:
    """[scene] of the audit's world, with absolute paths of shape cards; InputError if it cannot be searched."""
    query, folder = world_query(options.world)
    if options.searched and query.wrong:
        raise InputError(
            f"--searched: {options.world} has wrong = true, and a query has one such condition only"
        )
    return query.scene.model_copy(
        update={"introduce": tuple(named_card(which, folder) for which in query.scene.introduce)}
    )


def planned(hours: float, options: AuditOptions) -> AuditOptions:
    """The options with sizes that fit a budget in CPU hours, PROBED scenes of each family included, however many.

    Counted are the sweep, the steps for rare failures, and EXPECTED_FAMILIES that are looked at again. InputError if it
    is too small for LEAST_SCENES, or for LEAST_TESTED failures of each family, or if one of SIZES is given too.
    """
    if not 0 < hours <= MAX_HOURS:
        raise InputError(f"--budget {hours:g}: give CPU hours above 0, at most {MAX_HOURS:,}")
    options.refuse(
        SIZES, f"{options.written('budget')} chooses the sizes of the audit; drop one or the other"
    )
    seconds = hours * 3600.0
    each, fixed = _sweep_s(options)
    again = EXPECTED_FAMILIES * (
        _cost_s(options.confirm_preset) + ASKING_S
    )  # seconds for a render of each family
    further = (CLOSER if options.explain else 0) + PROBED * len(CHANGES)
    scenes = min(MAX_SCENES, int((seconds * SWEEP_SHARE - fixed) / each))
    tested = min(50, int(seconds * (1 - SWEEP_SHARE) / again) - further)
    if scenes < LEAST_SCENES or tested < LEAST_TESTED:
        sweep, closer = LEAST_SCENES * each + fixed, (LEAST_TESTED + further) * again
        least = max(sweep / SWEEP_SHARE, closer / (1 - SWEEP_SHARE)) / 3600
        less = ", or --no-explain" if options.explain and tested < LEAST_TESTED else ""
        raise InputError(
            f"--budget {hours:g} is too small at presets {options.preset} and {options.confirm_preset}; give at least "
            f"{math.ceil(least * 100) / 100:.2f}{less}"
        )
    sized = options.changed(scenes=scenes, held_out=scenes, tested=tested)
    return sized.changed(rare=rare_scenes(sized))


def _sweep_s(options: AuditOptions) -> tuple[float, float]:
    """CPU seconds for each scene that makes rules, with all that goes with it, and those that do not depend on these.

    With it go a held-out scene, the random scenes that are drawn for rare families for each of these, and a part of the
    scenes with rare combinations, of the copies and of the scenes that narrow rules.
    """
    each = _cost_s(options.preset) + ASKING_S
    rare = (2 + 1 / NARROWING_PART) * each + DRAWN * CHOOSING_S
    if options.rare == 0:
        return 2 * each, 0.0
    sweep = 2 * each + SOUGHT_IN * DRAWING_S
    return (sweep + rare / RARE_PART, 0.0) if options.rare is None else (sweep, options.rare * rare)


def _cost_s(look: str) -> float:
    """CPU seconds for a scene; of a look without a measured cost those of the dearest."""
    return CPU_S.get(look, max(CPU_S.values()))


def audit_settings(model: ClevrModel, prior: ScenePrior, options: AuditOptions) -> Settings:
    """The settings that these options give; InputError names the first that is wrong. Nothing is rendered."""
    for look in (options.preset, options.confirm_preset):
        picture_size(RenderSection(preset=look))
    question = "How many things are there?"
    bound = bound_to(model, Question(question, parse(question)))
    return Settings(
        model=model.name,
        weights=weights_fingerprint(model.name, bound),
        world=hashlib.sha256(repr(prior.world).encode()).hexdigest()[:16],
        scenes=options.scenes,
        held_out=options.held_out,
        questions=options.questions,
        tested=options.tested,
        look=options.preset,
        deciding=options.confirm_preset,
        sure=options.sure,
        seed=options.seed,
        severity=_severity(options.weigh),
        families=_families(options.families),
        probe_probabilities=probe_probabilities_of(bound),
        rare=_rare(options),
        narrows=_as_before(options, "narrows", ENOUGH),
        sought=_as_before(options, "sought", SOUGHT_IN_SPARSE),
        bank_seed=options.bank_seed,
        explain=options.explain,
    )


def _folder(options: AuditOptions) -> Path:
    return options.out or RUNS / f"audit-{options.model.replace(':', '-').replace('/', '-')}"


def rare_scenes(options: AuditOptions) -> int:
    """The scenes with rare combinations that these options ask for."""
    return options.scenes // RARE_PART if options.rare is None else options.rare


def _rare(options: AuditOptions) -> int:
    """The scenes with rare combinations; of a folder that holds an audit, as many as it has if none are asked for."""
    known = _known(options) if options.rare is None else None
    return rare_scenes(options) if known is None else known.rare


def _as_before(options: AuditOptions, name: str, now: int) -> int:
    """What no option sets: as it is now; of a folder that holds an audit, as it was for that."""
    known = _known(options)
    return now if known is None else int(getattr(known, name))


def _known(options: AuditOptions) -> Settings | None:
    """The settings of the audit that the folder holds, None if it holds none or nothing has been done in it."""
    folder = _folder(options)
    return read_settings(folder / MANIFEST) if folder.is_dir() and not begun_only(folder) else None


def _families(names: Sequence[str]) -> tuple[str, ...]:
    """The names in order, each once; InputError for one that is no kind and no family of CLEVR's questions."""
    kinds = list(dict.fromkeys(family.kind for family in FAMILIES))
    for name in names:
        if not any(is_of(family, (name,)) for family in FAMILIES):
            raise unknown("kind or family of questions in --families", name, kinds)
    return tuple(sorted(set(names)))


def _severity(given: Sequence[str]) -> dict[str, float]:
    """The weights by symptom; InputError for a symptom that is weighed twice."""
    weights: dict[str, float] = {}
    for words in given:
        name, weight = _weight(words)
        if name in weights:
            raise InputError(f"--weigh {words}: {name} is weighed twice; give each symptom once")
        weights[name] = weight
    return weights


def _weight(words: str) -> tuple[str, float]:
    name, _, value = words.partition("=")
    try:
        weight = float(value)
    except ValueError:
        weight = -1.0
    if not name or not 0 <= weight < math.inf:
        raise InputError(f"--weigh {words}: give SYMPTOM=WEIGHT, such as missed=3")
    if name not in SYMPTOMS:
        raise unknown("symptom of --weigh", name, SYMPTOMS)
    return name, weight
