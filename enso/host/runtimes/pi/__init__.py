"""The real pi behind the contract: each live thread is a ``pi --mode rpc`` of its own.

``program`` finds pi and its version, ``process`` speaks to one, ``runtime`` is a thread of it.
Pi writes the session file; Enso only reads it.
"""

from enso.host.runtimes.pi.factory import PiRuntimes
from enso.host.runtimes.pi.program import PiUnusable, Programs, find_pi

__all__ = ["PiRuntimes", "PiUnusable", "Programs", "find_pi"]
