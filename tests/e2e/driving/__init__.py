"""Driving the agent in a browser, with every state of a run in the test's hand."""
