"""What a query finds in pictures without a search: hits, true mistakes, accuracy, beside the results of runs."""
