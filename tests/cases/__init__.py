"""Small inputs from bug reports and trials; each test is one situation and what is right in it."""
