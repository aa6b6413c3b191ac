"""The page on which people label the pictures of a repair: served here, or exported as one file.

What is voted on and how votes are counted is decided in `trex.repair`; the guard of the server is that of `trex serve`.
Annotators see pictures and classes, and nothing that tells what a picture is.
"""
