"""What is installed here, what works, and what to do for what is missing."""
