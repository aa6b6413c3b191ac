"""CLEVR's own files: scene JSON in and out, large JSON files item by item, and the camera offset of a picture."""
