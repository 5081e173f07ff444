"""Sizes of files as the agent is told them. Source: pi 1.6.0."""

from __future__ import annotations


def size_text(size: int) -> str:
    """A size for a sentence: ``12B``, ``50.0KB``, ``1.5MB``."""
    if size < 1024:
        return f"{size}B"
    if size < 1024 * 1024:
        return f"{size / 1024:.1f}KB"
    return f"{size / (1024 * 1024):.1f}MB"
