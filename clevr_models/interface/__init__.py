"""The interface of every CLEVR model: pictures, a question, and a probability for each of the 28 answers."""
