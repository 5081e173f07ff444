"""The built-in runtime: threads run in this process, on any provider's model or the bundled one.

Importing this loads no model library and starts nothing: a server that only shows pages pays
nothing for it. The first prompt does.
"""

from __future__ import annotations

from enso.host.runtimes.builtin.factory import BuiltinRuntimes

__all__ = ["BuiltinRuntimes"]
