"""Who is questioned about scenes: the shipped model, released ones, the user's own; their training."""
