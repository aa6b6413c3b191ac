"""A run as a data set for other tools: CLEVR's layout, COCO, Parquet, and ArviZ InferenceData."""
