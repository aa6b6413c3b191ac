"""Which object is to blame: leave one out, smallest changes, saliency, and the explanation as a page shows it."""
