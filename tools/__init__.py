"""Programs that made something once or simulate something; not shipped with the package."""
