"""A search that was interrupted from Python."""

from __future__ import annotations

from pathlib import Path


class Stopped(KeyboardInterrupt):
    """Ctrl-C, or a notebook's stop button, during a search or an audit: every draw and answer is on the disk.

    `path` is the run folder, None if nothing was written yet; `trex.open_run(path)` has the draws so far, and its
    `resume()` continues. Being a KeyboardInterrupt, it ends a loop over several searches too.
    """

    def __init__(self, path: Path | None, advice: str = "") -> None:
        self.path = path
        advice = advice or f'every draw is kept. Resume: trex.open_run("{path}").resume()'
        super().__init__("stopped before anything was written" if path is None else f"stopped; {advice}")
