"""Our renders of CLEVR's official scenes, and our assets, beside the published ones."""
