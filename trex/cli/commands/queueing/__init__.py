"""Commands on many queries: the queue, who works on it, how it is watched, and experiments."""
