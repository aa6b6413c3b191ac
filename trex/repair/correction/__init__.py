"""Step 4: fine-tuning with all its controls, the sets that tune and judge, and the results."""
