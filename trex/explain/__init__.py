"""Which object is responsible: leave-one-out, smallest changes, saliency, and the explanation's view on a page."""
