"""Parts that several commands of repairs and marks share: a step with its progress, and the label page."""
