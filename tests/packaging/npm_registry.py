"""A registry of npm's kind on this machine: one package, in as many versions as a test makes."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

NAME = "htmx.org"


@dataclass(frozen=True)
class Package:
    """One version of the package: two scripts whose text names the version."""

    version: str

    @property
    def files(self) -> dict[str, bytes]:
        """What the package holds, by name."""
        return {
            "package.json": json.dumps({"name": NAME, "version": self.version}).encode(),
            "dist/htmx.min.js": f"// htmx {self.version}\n".encode(),
            "dist/ext/hx-ws.min.js": f"// hx-ws {self.version}\n".encode(),
        }

    @property
    def tarball(self) -> bytes:
        """The package as a registry hands it out: the same bytes each time."""
        held = io.BytesIO()
        with tarfile.open(fileobj=held, mode="w") as archive:
            for name, content in self.files.items():
                member = tarfile.TarInfo(f"package/{name}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        return held.getvalue()

    @property
    def integrity(self) -> str:
        """The tarball's digest in the form that a lock file pins."""
        return f"sha512-{base64.b64encode(hashlib.sha512(self.tarball).digest()).decode()}"

    def pin(self, root: Path, *, integrity: str | None = None) -> None:
        """Make the lock file and package.json of the tree at ``root`` pin this version."""
        lock, manifest = root / "package-lock.json", root / "package.json"
        locked, wanted = json.loads(lock.read_text()), json.loads(manifest.read_text())
        wanted["dependencies"][NAME] = self.version
        locked["packages"][""]["dependencies"][NAME] = self.version
        entry = locked["packages"][f"node_modules/{NAME}"]
        entry.update(version=self.version, integrity=integrity or self.integrity)
        lock.write_text(json.dumps(locked))
        manifest.write_text(json.dumps(wanted))


@contextmanager
def serving(*packages: Package) -> Iterator[str]:
    """Serve these versions on a free loopback port; yields the registry's address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(packages))
    worker = threading.Thread(target=server.serve_forever, args=(0.05,))
    worker.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        worker.join()
        server.server_close()


def _handler(packages: tuple[Package, ...]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = _answer(self.path, packages, f"http://{self.headers['Host']}")
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *arguments: Any) -> None:
            """Say nothing: a request here is no news."""

    return Handler


def _answer(path: str, packages: tuple[Package, ...], address: str) -> bytes | None:
    if path == f"/{NAME}":
        versions = {package.version: _described(package, address) for package in packages}
        return json.dumps({"name": NAME, "versions": versions, "dist-tags": {}}).encode()
    tarballs = {f"/{package.version}.tgz": package.tarball for package in packages}
    return tarballs.get(path)


def _described(package: Package, address: str) -> dict[str, Any]:
    dist = {"tarball": f"{address}/{package.version}.tgz", "integrity": package.integrity}
    return {"name": NAME, "version": package.version, "dist": dist}
