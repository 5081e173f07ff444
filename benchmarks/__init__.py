"""What Enso costs, measured on real parts; numbers are printed, and nothing is asserted."""
