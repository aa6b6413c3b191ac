"""Many queries at once: a queue on the disk, workers that carry it out, and pages that show where it stands."""
