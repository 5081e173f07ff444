"""The tools of the built-in runtime, as real pi names them.

Names, arguments and stored results are those of pi 1.6.0, so that a thread which was started in
either goes on in the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from enso.host.runtimes.builtin.tools.bash import BashTool
from enso.host.runtimes.builtin.tools.edit import EditTool
from enso.host.runtimes.builtin.tools.find import FindTool
from enso.host.runtimes.builtin.tools.grep import GrepTool
from enso.host.runtimes.builtin.tools.ls import LsTool
from enso.host.runtimes.builtin.tools.read import ReadTool
from enso.host.runtimes.builtin.tools.shell_command import end_running_commands
from enso.host.runtimes.builtin.tools.tool import Tool, ToolContext, ToolOutcome, aborted
from enso.host.runtimes.builtin.tools.write import WriteTool

__all__ = ["TOOLS", "Tool", "ToolContext", "ToolOutcome", "aborted", "end_running_commands"]

_ALL: Final[tuple[Tool, ...]] = (
    ReadTool(),
    BashTool(),
    EditTool(),
    WriteTool(),
    GrepTool(),
    FindTool(),
    LsTool(),
)
TOOLS: Final[Mapping[str, Tool]] = {tool.name: tool for tool in _ALL}
"""Every tool by its name, in the order in which a model is told of them."""
