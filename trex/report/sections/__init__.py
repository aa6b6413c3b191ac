"""The sections of a report, one file each: what it shows of a run, and its template."""
