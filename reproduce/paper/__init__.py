"""The whole publication on one page: every table and figure, published and here, from the experiments' records."""
