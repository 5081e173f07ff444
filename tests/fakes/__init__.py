"""Second implementations of Enso's seams, for tests: real behaviour over plain values."""
