"""A benchmark of failure finding in a world where the truth is known: planted faults, a referee, entrants, a score."""
