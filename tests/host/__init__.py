"""Tests of the storage seam over session files."""
