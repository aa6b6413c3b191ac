"""Small worlds, stand-ins and helpers that tests of several rooms share."""
