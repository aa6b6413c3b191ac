"""The processor that Cycles uses: chosen by name, never silently replaced."""

from __future__ import annotations

from trex.foundation.errors import InputError, unknown

DEVICES = ("auto", "cpu", "cuda", "optix", "hip", "oneapi", "metal")
GPU_ORDER = (
    "optix",
    "cuda",
    "hip",
    "metal",
    "oneapi",
)  # auto takes the first available one, else the CPU


def check_device(name: str) -> str:
    """The name, if it is one of DEVICES; raises InputError otherwise."""
    if name not in DEVICES:
        raise unknown("device", name, DEVICES)
    return name


def choose_device(wanted: str, there: dict[str, list[str]]) -> str:
    """The device to use, given the names of the available devices of each kind.

    Raises InputError, with a list of what is available, if the wanted one is not.
    """
    if wanted == "auto":
        return next((kind for kind in GPU_ORDER if there.get(kind)), "cpu")
    if wanted != "cpu" and not there.get(wanted):
        listed = "; ".join(f"{kind} ({', '.join(names)})" for kind, names in there.items() if names)
        raise InputError(
            f"device {wanted!r} does not exist on this machine ({listed}). Choose one of these, or device 'auto'."
        )
    return wanted
