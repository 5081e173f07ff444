"""Tests of what runs a thread."""
