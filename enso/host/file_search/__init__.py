"""A search program of our own: it walks a directory as ripgrep and fd do, and prints what it finds.

It runs as a process of its own, so that a search can be stopped at any moment and a slow pattern
holds up nobody. It starts with nothing but the standard library: these modules import each other
and nothing else of Enso's.
"""
