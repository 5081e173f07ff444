"""Tests of Enso; the folders mirror the package."""
