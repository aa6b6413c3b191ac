"""The documents: how long their pages and sentences are, their pictures, and what the site's build adds."""
