"""Folders of pictures, scenes and questions in forms that people have."""
