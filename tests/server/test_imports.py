"""What a server loads before anybody asks for more than a page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from enso.server.template_cache import TemplateCache

ROOT = Path(__file__).parent.parent.parent
WATCHING = ("enso.host", "enso.wire", "enso.server.application", "flask", "jinja2", "asyncio")
SHOWING = (
    "asyncio",
    "enso.host.context",
    "enso.host.context_walk",
    "enso.host.hosted_thread",
    "enso.host.refusals",
    "enso.host.runtimes.builtin.runtime",
    "enso.host.runtimes.builtin.tools",
    "enso.host.runtimes.pi",
    "enso.host.stats",
    "enso.host.whole_readings",
    "enso.server.agui.run",
    "enso.server.bundle",
    "enso.server.charts",
    "enso.server.inspection_pages",
    "enso.server.openapi",
    "enso.server.redaction",
    "enso.server.socket",
    "enso.server.stats_page",
    "ag_ui",
    "linkify_it",
    "markdown_it",
    "nh3",
    "pydantic_ai",
    "pygments",
    "simple_websocket",
    "wsproto",
)


def printed(source: str, *arguments: str) -> str:
    """What a Python of its own prints."""
    command = [sys.executable, "-c", source, *arguments]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return ended.stdout.strip()


def test_the_process_that_watches_over_the_server_loads_none_of_it() -> None:
    """Before the worker is forked no host, no web framework and no wire shape is imported."""
    source = (
        "import sys\n"
        "import app, gunicorn.arbiter\n"
        f"print([name for name in {WATCHING!r} if name in sys.modules])\n"
    )
    assert printed(source) == "[]"


def test_a_page_loads_what_a_page_needs(tmp_path: Path) -> None:
    """A server that has shown a page of text holds no runtime, tool, export, colour or websocket,
    made no more of the wire shapes ready than it filled, and compiled no template of messages."""
    source = (
        "import sys\n"
        "from pathlib import Path\n"
        "from enso.composition import build_server\n"
        "from enso.server.doors import Doors\n"
        "from enso.settings import Settings\n"
        "root = Path(sys.argv[1])\n"
        "chosen = Settings(agent_dir=root / 'agent', cache_dir=root / 'cache', projects=(root,))\n"
        "server = build_server(chosen, Doors.of(host='127.0.0.1', token=None))\n"
        "page = server.app.test_client().get('/')\n"
        f"print(page.status_code, [name for name in {SHOWING!r} if name in sys.modules])\n"
        "from enso import wire\n"
        "shapes = [vars(wire)[name] for name in wire.__all__ if name[0].isupper()]\n"
        "built = [one for one in shapes if vars(one).get('__pydantic_complete__')]\n"
        "print(len(built) < len(shapes) / 5)\n"
        "server.close()\n"
    )
    assert printed(source, str(tmp_path)) == "200 []\nTrue"
    kept = tmp_path / "cache" / "templates"
    compiled = [
        path.name
        for path in (ROOT / "templates").iterdir()
        if (kept / f"{TemplateCache(kept).get_cache_key(path.name, str(path))}.template").exists()
    ]
    assert {"_pane.html", "_said.html"} <= set(compiled)
    assert {"_messages.html", "_dialogs.html"}.isdisjoint(compiled)
