"""Find the failure families of a CLEVR model: what it misreads, when, how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trex.auditing.options import AuditOptions
from trex.commands.verb import Session, Verb

if TYPE_CHECKING:
    from trex.auditing.perform import AuditResult


def audit(options: AuditOptions, session: Session) -> AuditResult:
    """Find the failure families of a CLEVR model: what it misreads, when, how often.

    An audit that was stopped resumes from its folder; a finished one is only read.
    """
    from trex.auditing.perform import perform

    return perform(options, session.display.show, session.begin)


VERB = Verb(AuditOptions, audit, kept="every answer is kept", result=lambda audited, _: audited.placed())
