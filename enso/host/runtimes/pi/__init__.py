"""The real pi behind the contract: each live thread is a ``pi --mode rpc`` of its own.

``program`` finds pi and its version, ``process`` speaks to one, ``runtime`` is a thread of it.
Pi writes the session file; Enso only reads it.
"""
