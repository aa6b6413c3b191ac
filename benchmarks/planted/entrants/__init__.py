"""Ways of finding failures; each file has one function from a referee, a seed and a hint to what it claims."""
