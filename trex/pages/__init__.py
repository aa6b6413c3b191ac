"""The page kit: templates, wording, glossary, figures as inline SVG, thumbnails, and the one progress display.

Decides how things look, not what they mean.
"""
