"""The sections of a report, one file each: its data from a run, and its template."""
