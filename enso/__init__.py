"""Enso, a web host for coding-agent threads."""
