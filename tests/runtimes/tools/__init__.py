"""Tests of the tools: real files, real processes."""
