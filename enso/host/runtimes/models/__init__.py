"""Which models there are and which one a prompt goes to, by what the agent directory says.

For both runtimes. Reads files and environment variables; asks no provider and imports no model
library.
"""
