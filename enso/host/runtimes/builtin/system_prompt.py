"""What a model is told before a thread begins, as sections of a stored system message."""

from __future__ import annotations

from pathlib import Path


def system_sections(cwd: Path) -> dict[str, str]:
    """The sections, in order: who the model is, and where it works. Plain text for a model."""
    return {
        "preamble": (
            "You are a helpful assistant for a person who works on software. Answer what is asked, "
            "plainly and exactly. Write Markdown, with code in fenced blocks that name their "
            "language. Say so when you do not know something."
        ),
        "cwd": f"<cwd>\n{cwd}\n</cwd>",
    }
