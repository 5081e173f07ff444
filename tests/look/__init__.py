"""Scenes to look at, and the script that photographs them."""
