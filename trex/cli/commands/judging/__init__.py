"""Commands that say why a run's hits are hits and how often: explanations, other renders, baselines, exports."""
