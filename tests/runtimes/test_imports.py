"""What a server that only shows pages must not load."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from enso.host.runtimes.builtin import BuiltinRuntimes

ROOT = Path(__file__).parent.parent.parent
HEAVY = (
    "pydantic_ai",
    "openai",
    "anthropic",
    "google.genai",
    "genai_prices",
    "httpx2",
    "xllamacpp",
)


def test_no_model_library_is_loaded_before_the_first_prompt(tmp_path: Path) -> None:
    """Making the runtime, a thread and its readiness imports no model library."""
    source = (
        "import sys\n"
        "from pathlib import Path\n"
        "from enso.host.runtimes.builtin import BuiltinRuntimes\n"
        "from enso.host.session_file import SessionFile\n"
        "root = Path(sys.argv[1])\n"
        "runtimes = BuiltinRuntimes(root, 'openai/gpt-4o')\n"
        "runtimes.readiness()\n"
        "runtimes.build(SessionFile.create(root, 'a', root)).model()\n"
        "runtimes.close()\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    command = [sys.executable, "-c", source, str(tmp_path)]
    loaded = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"


def test_a_protocol_that_is_not_used_is_not_loaded(tmp_path: Path) -> None:
    """A prompt over one protocol loads that protocol's SDK alone."""
    source = (
        "import sys, threading\n"
        "from pathlib import Path\n"
        "from enso.host.contract import RunSettled\n"
        "from enso.host.runtimes.builtin import BuiltinRuntimes\n"
        "from enso.host.session_file import SessionFile\n"
        "from tests.model_server import configure, serve\n"
        "root = Path(sys.argv[1])\n"
        "configure(root, serve().url)\n"
        "runtimes = BuiltinRuntimes(root, 'labserver/lab-coder')\n"
        "runtime, done = runtimes.build(SessionFile.create(root, 'a', root)), threading.Event()\n"
        "runtime.listen(lambda event: isinstance(event, RunSettled) and done.set())\n"
        "runtime.prompt('Hello')\n"
        "done.wait(60)\n"
        "print([name for name in ('openai', 'anthropic', 'google.genai') if name in sys.modules])\n"
        "runtimes.close()\n"
    )
    command = [sys.executable, "-c", source, str(tmp_path)]
    loaded = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "['openai']"


def test_what_a_prompt_needs_is_loaded_before_it_once_somebody_types(tmp_path: Path) -> None:
    """Preparing loads the library and the SDK of the model that would be asked, and no other."""
    source = (
        "import sys, threading\n"
        "from pathlib import Path\n"
        "from enso.host.runtimes.builtin import BuiltinRuntimes\n"
        "from tests.model_server import configure, serve\n"
        "root = Path(sys.argv[1])\n"
        "configure(root, serve().url)\n"
        "runtimes = BuiltinRuntimes(root, 'labclaude/lab-sonnet')\n"
        "runtimes.prepare()\n"
        "begun = [one for one in threading.enumerate() if one.name == 'enso-preparation']\n"
        "runtimes.prepare()\n"
        "again = [one for one in threading.enumerate() if one.name == 'enso-preparation']\n"
        "[one.join(60) for one in begun]\n"
        "names = ('pydantic_ai', 'openai', 'anthropic', 'google.genai')\n"
        "print(len(begun), begun == again, [name for name in names if name in sys.modules])\n"
        "runtimes.close()\n"
    )
    command = [sys.executable, "-c", source, str(tmp_path)]
    loaded = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "1 True ['pydantic_ai', 'anthropic']"


def test_a_prompt_that_was_prepared_for_loads_nothing_of_its_protocol(tmp_path: Path) -> None:
    """Library, SDK, client and Enso's own modules are there: the first prompt imports none."""
    source = (
        "import sys, threading\n"
        "from pathlib import Path\n"
        "from enso.host.contract import RunSettled\n"
        "from enso.host.runtimes.builtin import BuiltinRuntimes\n"
        "from enso.host.session_file import SessionFile\n"
        "from tests.model_server import configure, serve\n"
        "root = Path(sys.argv[1])\n"
        "server = serve()\n"
        "configure(root, server.url)\n"
        "runtimes = BuiltinRuntimes(root, 'labserver/lab-coder')\n"
        "runtimes.prepare()\n"
        "[one.join(60) for one in threading.enumerate() if one.name == 'enso-preparation']\n"
        "before = set(sys.modules)\n"
        "runtime, done = runtimes.build(SessionFile.create(root, 'a', root)), threading.Event()\n"
        "runtime.listen(lambda event: isinstance(event, RunSettled) and done.set())\n"
        "runtime.prompt('Hello')\n"
        "done.wait(60)\n"
        "names = ('enso', 'openai', 'pydantic', 'httpx', 'ssl')\n"
        "print([name for name in set(sys.modules) - before if name.startswith(names)])\n"
        "print(len(server.requests()))\n"
        "runtimes.close()\n"
    )
    command = [sys.executable, "-c", source, str(tmp_path)]
    loaded = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert loaded.split("\n")[:2] == ["[]", "1"]


def test_preparing_without_a_model_does_nothing(tmp_path: Path) -> None:
    """A page may say that somebody types when nothing could be asked: that is no fault."""
    runtimes = BuiltinRuntimes(tmp_path, "nobody/nothing")
    runtimes.prepare()
    assert "enso-preparation" not in {one.name for one in threading.enumerate()}
    runtimes.close()
