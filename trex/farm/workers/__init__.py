"""Splits queued searches into tasks, schedules them, runs them in workers and reassembles their records."""
