"""Which object is to blame: leave-one-out, smallest changes, saliency, and the explanation's view on a page."""
