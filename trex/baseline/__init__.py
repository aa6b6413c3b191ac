"""What an unsearched set of pictures shows of a query: hits, true mistakes, accuracy, beside what a search found."""
