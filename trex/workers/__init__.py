"""How queued searches are cut into tasks, scheduled, carried out by workers and put together again."""
