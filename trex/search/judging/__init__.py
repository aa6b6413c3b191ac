"""What the draws of a search amount to: its ending, how its chains moved, checks of the renderer, and the headline."""
