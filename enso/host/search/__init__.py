"""Finding threads by what was said in them.

A full-text index of the session files' words, kept in the cache directory. It is derived: it may be
deleted at any time, is filled again in the background, and no thread needs it to open.
"""

from enso.host.search.finder import Finder

__all__ = ["Finder"]
