"""What every CLEVR model takes and gives: pictures, a question, and a probability for each of the 28 answers."""
