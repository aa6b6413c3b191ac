"""Examines the packages: torch and its device, and the optional ones of each extra."""

from __future__ import annotations

from importlib import metadata

from packaging.requirements import Requirement

from trex.doctor.finding import Finding, State

DISTRIBUTION = "bayes-trex"
WITHOUT_PACKAGES = ("dev", "docs", "worlds")  # for those who work on trex itself; weights (`examine.py`)
BLENDER = "bpy"  # which has a finding of its own, and which digits do without


def package_findings() -> list[Finding]:
    return [_torch(), *_extras()]


def _torch() -> Finding:
    try:
        import torch
    except (ImportError, OSError) as error:
        return Finding(
            "torch", State.FAULT, f"cannot be imported: {error}", "install it again (docs/start/install.md)"
        )
    where = "on the CPU"
    if torch.cuda.is_available():
        where = f"on CUDA: {torch.cuda.get_device_name(0)}"
    elif torch.version.cuda:
        where = f"on the CPU; it is built for CUDA {torch.version.cuda}, but finds no such device"
    return Finding("torch", State.OK, f"{torch.__version__}, {where}")


def _extras() -> list[Finding]:
    try:
        own = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        remedy = "run make, or pip install -e . in the checkout"
        return [Finding("packages", State.FAULT, f"{DISTRIBUTION} is not installed as a package", remedy)]
    wanted = [Requirement(line) for line in own.requires or []]
    named = sorted(set(own.metadata.get_all("Provides-Extra") or []) - set(WITHOUT_PACKAGES))
    base = _missing(
        [requirement for requirement in wanted if _holds(requirement, "") and requirement.name != BLENDER]
    )
    found = [Finding("packages", State.OK, "all that every command needs")]
    if base:
        found = [
            Finding(
                "packages",
                State.FAULT,
                f"missing: {', '.join(base)}",
                "install trex again (docs/start/install.md)",
            )
        ]
    return found + [
        _extra(
            name,
            [
                requirement
                for requirement in wanted
                if _holds(requirement, name) and not _holds(requirement, "")
            ],
        )
        for name in named
    ]


def _extra(name: str, wanted: list[Requirement]) -> Finding:
    missing = _missing(wanted)
    if missing:
        text = f"missing: {', '.join(missing)}"
        return Finding(f"extra {name}", State.ABSENT, text, f"pip install '{DISTRIBUTION}[{name}]'")
    return Finding(f"extra {name}", State.OK, ", ".join(sorted(requirement.name for requirement in wanted)))


def _holds(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _missing(wanted: list[Requirement]) -> list[str]:
    """Requirements that no installed distribution satisfies, with the version that is there."""
    found = []
    for requirement in wanted:
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            found.append(requirement.name)
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            found.append(f"{requirement.name} {version} (needs {requirement.specifier})")
    return found
