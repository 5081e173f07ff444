"""The runtime over pi, with processes that speak its protocol."""
