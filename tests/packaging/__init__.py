"""Tests of what a newcomer meets first: set-up, the wheel, the docs, the rules of the house."""
