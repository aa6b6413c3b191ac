"""The draws of a run in memory; new ones go to the disk at once."""

from __future__ import annotations

from collections.abc import Sequence

from trex.foundation.errors import RunError
from trex.foundation.files import Closing
from trex.runs.draw_log import DrawLog, read_draws
from trex.runs.folder import RunFolder
from trex.runs.record import Key, Record


class Journal(Closing):
    """All records of a run, in file order; one process at a time has it open."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder, self._render = folder, folder.manifest.query.render
        self.records = read_draws(folder.draws, folder.manifest)
        self._log = DrawLog(folder.draws, folder.manifest.seal)
        self._known: dict[Key, Record] = {record.key: record for record in self.records}
        self.renders = 0  # pictures at all looks, in this process

    def of(self, phase: str) -> list[Record]:
        """The records of a phase."""
        return [record for record in self.records if record.phase == phase]

    def __contains__(self, key: Key) -> bool:
        """Whether this step is on the disk."""
        return key in self._known

    def add(self, records: Sequence[Record]) -> None:
        """Write the records that are new; RunError if a step repeated after a kill differs from its record."""
        self.renders += sum(record.pictures(self._render) + record.inner_pictures for record in records)
        for record in records:
            if self._known.get(record.key, record) != record:
                phase, chain, index = record.key
                raise RunError(
                    f"step {index} of {phase} {chain} gave a different result when it was repeated: this machine "
                    f"or its software differs from the one that began {self._folder.path}; start a new run"
                )
        new = [record for record in records if record.key not in self._known]
        self._log.append(new)
        self.records += new
        self._known |= {record.key: record for record in new}

    def close(self) -> None:
        """Close the file."""
        self._log.close()
