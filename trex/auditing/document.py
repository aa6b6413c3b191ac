"""An audit for machines: as JSON, its families as test cases, and its failures with all it takes to ask again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from trex.auditing.audit import Audit
from trex.auditing.by_kind import not_found_words
from trex.auditing.compare import Beside, Fresh
from trex.auditing.judging.confirm import deciding_scene
from trex.auditing.judging.findings import Finding, rate_words, share_words
from trex.auditing.judging.reword import Wordings
from trex.auditing.leads import Lead
from trex.auditing.records import Tested
from trex.auditing.side_by_side import SideBySide, document_of
from trex.auditing.work import MANIFEST, PICTURES, TESTS
from trex.foundation.codec import Codec
from trex.foundation.errors import InputError, RunError, TrexError
from trex.foundation.files import read_bytes, write_atomic
from trex.foundation.junit import Case, CaseStatus
from trex.inference.statistics.paired import Paired
from trex.inference.statistics.proportion import Proportion
from trex.render.cache import MAX_RAW, decode, entry_name, entry_path
from trex.render.picture import Picture
from trex.scenes.questions.program_json import program_from_json, program_to_json
from trex.scenes.questions.programs import Program
from trex.scenes.scene import Scene, scene_from_dict, scene_id, scene_to_dict
from trex.trials.lines import AGAIN

NO_FAMILY = "no failure family"
FAILURES = "failures.json"


def document(
    done: Audit,
    leads: Sequence[Lead] = (),
    beside: Beside | None = None,
    rows: Sequence[SideBySide] = (),
) -> dict[str, object]:
    """The audit as JSON, with the leads to further mistakes, and another model beside it if asked for."""
    compared = (
        {}
        if beside is None
        else {"beside": _beside(beside, done.confirmed) | {"findings": document_of(rows)}}
    )
    words = {finding.number: finding.words for finding in done.findings}
    fresh = {} if done.fresh is None else {"fresh": _fresh(done.fresh, done.confirmed)}
    return {
        "headline": done.headline,
        "settings": {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(done.settings).items()
        },
        "coverage_held_out": _share(done.coverage),
        **fresh,
        "families": [
            _family(finding, done.probes.get(finding.number, {}))
            | {"within": None if finding.within is None else words[finding.within]}
            for finding in done.findings
        ],
        "questions": [
            {
                "what": row.what,
                "right": _share(row.right),
                "confident_mistakes": _share(row.mistakes),
                "confidence": row.confidence,
                "stands_out": row.stands_out,
            }
            for row in done.by_question
        ],
        "looked_for": done.looked_for.kinds,
        "not_found": [
            {
                "what": not_found.what,
                "scenes": not_found.scenes,
                "high": not_found.bound,
                "high_together": not_found.together,
            }
            for not_found in done.looked_for.absent
        ],
        "leads": [_lead(lead) for lead in leads],
        **compared,
    }


def _fresh(fresh: Fresh, confirmed: Sequence[Finding]) -> dict[str, object]:
    families = [
        {
            "words": finding.words,
            "fails": _share(fresh.fails[finding.number]),
            "covers": _share(fresh.covers[finding.number]),
        }
        for finding in confirmed
    ]
    return {
        "scenes": fresh.scenes,
        "coverage": _share(fresh.coverage),
        "families": families,
        "agreement": {
            "same": _share(fresh.agreement.same),
            "kappa": fresh.agreement.kappa,
            "sentences": list(fresh.agreement.words),
        },
    }


def _lead(lead: Lead) -> dict[str, object]:
    searched = None if lead.searched is None else {**asdict(lead.searched), "run": lead.run}
    return {**asdict(lead.hint), "query": lead.query, "searched": searched}


def _share(share: Proportion) -> dict[str, object]:
    return {"hits": share.count, "of": share.of, "low": share.interval.low, "high": share.interval.high}


def _family(finding: Finding, probes: Mapping[str, Proportion]) -> dict[str, object]:
    return {
        "words": finding.words,
        "symptom": finding.family.symptom.what,
        "level": finding.family.symptom.level,
        "conditions": [condition.key for condition in finding.family.pattern.conditions],
        "confirmed": finding.is_confirmed,
        "p_value": finding.p_value,
        "holds": _share(finding.holds),
        "fails": _share(finding.fails),
        "rate": finding.rate,
        "rate_low": finding.rate_interval.low,
        "rate_high": finding.rate_interval.high,
        "confidence": finding.confidence,
        "severity": finding.severity,
        "harm": finding.harm,
        "survives": {name: {"share": share, "scenes": n} for name, (share, n) in finding.survives.items()},
        "stays": _share(finding.stays),
        "probes": {way: _share(share) for way, share in probes.items()},
        "covers": _share(finding.covers),
        "became": [list(row) for row in finding.family.became[:5]],
        "scenes": [row.scene for row in finding.shown],
        "flips": [None if row.flip is None else asdict(row.flip) for row in finding.shown],
        **({} if finding.wordings is None else {"wordings": _wordings(finding.wordings)}),
    }


def _wordings(found: Wordings) -> dict[str, object]:
    return {
        "tried": found.is_read,
        "stays": _share(found.stays) if found.is_read else None,
        "again": _share(found.again) if found.again else None,
        "probabilities_differ": found.is_moved if found.is_read else None,
        "depends": found.matter,
    }


def _beside(beside: Beside, confirmed: Sequence[Finding]) -> dict[str, object]:
    return {
        "model": beside.model,
        "mistakes": _paired(beside.mistakes),
        "families": [
            {
                "words": finding.words,
                **_paired(beside.families[finding.number]),
                "corrected_p_value": beside.corrected(finding.number),
            }
            for finding in confirmed
        ],
    }


def _paired(paired: Paired) -> dict[str, object]:
    return {**asdict(paired), "p_value": paired.p_value}


def cases(done: Audit) -> list[Case]:
    """A failed case for each confirmed family; rules that were not confirmed are skipped.

    One case that passed if no family was confirmed, with what was looked for and not found.
    """
    group = done.settings.model
    found = [
        Case(finding.words, group, _status(finding), _reason(finding, done)) for finding in done.findings
    ]
    if done.confirmed:
        return found
    return [Case(NO_FAMILY, group, CaseStatus.PASSED, not_found_words(done.looked_for)), *found]


def _status(finding: Finding) -> CaseStatus:
    return CaseStatus.FAILED if finding.is_confirmed else CaseStatus.SKIPPED


def _reason(finding: Finding, done: Audit) -> str:
    stays = (
        f"{share_words(finding.stays, 'failures rendered again')} stayed at preset {done.settings.deciding}"
    )
    return f"{rate_words(finding)}; {stays}" if finding.is_confirmed else f"not confirmed; {stays}"


@dataclass(frozen=True)
class Failure:
    """A failure that stayed at the deciding look: the scene there, its question, and the name of its picture's file."""

    family: str
    scene: dict[str, object]
    question: str
    program: tuple[dict[str, object], ...]
    truth: str
    said: str
    confidence: Annotated[float, Field(ge=0, le=1)]
    picture: Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]


@dataclass(frozen=True)
class Failures:
    """All confirmed failures of a model at the deciding look."""

    model: str
    look: str
    failures: tuple[Failure, ...]


CODEC = Codec(Failures)


def write_failures(done: Audit, renderer_key: str) -> None:
    """Write the failures of the confirmed families, whose pictures a renderer with this key has made."""
    rows = tuple(
        _failure(finding, row, done, renderer_key) for finding in done.confirmed for row in finding.stayed
    )
    content = Failures(done.settings.model, done.settings.deciding, rows)
    write_atomic(done.folder / FAILURES, CODEC.text(content).encode())


def is_audit(folder: Path) -> bool:
    """Whether a folder holds an audit, finished or not."""
    return (folder / MANIFEST).is_file()


def read_failures(folder: Path) -> Failures:
    """The failures of a finished audit; RunError if there is none, or if the file is damaged."""
    found = CODEC.read(folder / FAILURES, AGAIN, inside=folder)
    if found is None:
        raise RunError(f"{folder} holds no finished audit; give its command again")
    return found


def opened_failure(folder: Path, failure: Failure) -> tuple[Scene, Program, Picture]:
    """A failure's scene, program and picture in the audit's folder; RunError if the picture is missing or damaged.

    InputError if the question has a word that is not CLEVR's.
    """
    path = entry_path(folder / PICTURES, failure.picture)
    where = folder / FAILURES
    try:
        scene = scene_from_dict(failure.scene)
        picture = decode(read_bytes(path, limit=MAX_RAW, inside=folder), failure.picture, scene_id(scene))
    except (ValueError, TrexError) as error:
        raise RunError(
            f"{path}: the picture of a failure is not usable ({error}); delete {folder / TESTS} and give the audit's "
            "command again, which renders it again"
        ) from error
    try:
        program = program_from_json(list(failure.program))
    except InputError as error:
        raise InputError(f"{where}: {error}; a suite keeps questions in CLEVR's words alone") from error
    return scene, program, picture


def _failure(finding: Finding, row: Tested, done: Audit, renderer_key: str) -> Failure:
    swept = done.failing[row.scene][0].scene
    scene = deciding_scene(swept)
    questions = done.asker.questions(swept, row.scene)
    program = next(each.program for each in questions if done.asker.words(each) == row.question)
    return Failure(
        family=finding.words,
        scene=scene_to_dict(scene),
        question=row.question,
        program=tuple(program_to_json(program)),
        truth=row.truth,
        said=row.said,
        confidence=row.confidence,
        picture=entry_name(renderer_key, scene_id(scene)),
    )
