"""Tests with the real pi: two of its versions, from npm, against the scripted model endpoint."""
