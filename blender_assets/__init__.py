"""Base scene, materials and shapes, with the scripts that make them from measured facts."""
