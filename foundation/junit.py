"""Test results as JUnit XML, which build servers read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from xml.etree import ElementTree

from trex.foundation.files import XML, check_file_out, write_atomic

# What XML 1.0 cannot hold, even escaped (https://www.w3.org/TR/xml/#charsets).
ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class CaseStatus(Enum):
    """How a case ended; all but PASSED name the element of the schema that holds the reason."""

    PASSED = "passed"
    FAILED = "failure"
    UNDECIDED = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Case:
    """One test case: its name, the group that it belongs to, how it ended, and the reason in words."""

    name: str
    group: str
    status: CaseStatus
    reason: str = ""


def check_junit(path: Path) -> None:
    """InputError unless a file can be written at this path; cheap, so call it before the work."""
    check_file_out(path, "--junit", XML)


def write_junit(path: Path, suite: str, cases: Sequence[Case]) -> None:
    """Write the cases atomically as one test suite; RunError if the disk refuses."""
    write_atomic(path, junit_xml(suite, cases))


def junit_xml(suite: str, cases: Sequence[Case]) -> bytes:
    """The cases as XML, valid against Jenkins' schema (https://github.com/jenkinsci/xunit-plugin, junit-10.xsd).

    Characters that XML cannot hold are written as Python escapes them.
    """
    statuses = [case.status for case in cases]
    counts = {
        "tests": len(cases),
        "failures": statuses.count(CaseStatus.FAILED),
        "errors": statuses.count(CaseStatus.UNDECIDED),
        "skipped": statuses.count(CaseStatus.SKIPPED),
    }
    head = {"name": _legal(suite)} | {key: str(count) for key, count in counts.items()}
    root = ElementTree.Element("testsuites")
    outer = ElementTree.SubElement(root, "testsuite", head)
    for case in cases:
        inner = ElementTree.SubElement(
            outer, "testcase", name=_legal(case.name), classname=_legal(case.group)
        )
        if case.status is not CaseStatus.PASSED:
            _add_reason(inner, case)
    ElementTree.indent(root)
    data: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _add_reason(inner: ElementTree.Element, case: Case) -> None:
    words = _legal(case.reason)
    element = ElementTree.SubElement(inner, case.status.value, message=words)
    if case.status is not CaseStatus.SKIPPED:
        element.set("type", case.status.name.lower())
        element.text = words


def _legal(text: str) -> str:
    return ILLEGAL.sub(lambda found: repr(found[0])[1:-1], text)
