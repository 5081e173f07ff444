"""The application of one server: its parts, made once, and its routes over them.

``create_app`` takes a host and knows no implementation of one; ``app.py`` chooses it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flask import Flask

from enso.host import contract
from enso.projects import Projects
from enso.server import (
    actions,
    api,
    behind_routes,
    commands,
    downloads,
    finding,
    follow_routes,
    lists,
    pages,
    picture_pages,
    resources,
    tree_pages,
)
from enso.server.agui import routes as agui_routes
from enso.server.capacity import MAX_FOLLOWS
from enso.server.compression import compress_pages
from enso.server.doors import Doors
from enso.server.errors import answer_errors
from enso.server.gather import Gatherer
from enso.server.presenter import Presenter, RailRequest
from enso.server.press import Press
from enso.server.rail import Rail
from enso.server.reading import Reader
from enso.server.recent_log import RecentLog
from enso.server.registry import ThreadRegistry
from enso.server.render import Renderer
from enso.server.resting import MOST_HELD
from enso.server.security import guard, wanted_page
from enso.server.services import Services
from enso.server.static_files import keep_versions, static_urls
from enso.server.url_rules import MatchingRule
from enso.urls import Urls

MAX_BODY = 32 * 1024 * 1024
MAX_FORM_PARTS = 64
HEARTBEAT_SECONDS = 20.0
RAIL_SECONDS = 0.25
"""How long changes of the rail are gathered into one frame."""
LOG_SECONDS = 0.05
"""How long changes of logs are gathered before they are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one server allows and how long it waits."""

    idle_seconds: float = 600
    heartbeat_seconds: float = HEARTBEAT_SECONDS
    most_held: int = MOST_HELD
    follows: int = MAX_FOLLOWS


class EnsoServer:
    """One server over one host: the Flask application and the workers behind it."""

    def __init__(
        self,
        *,
        host: contract.AgentHost,
        projects: Projects,
        doors: Doors,
        limits: Limits | None = None,
        settings: Mapping[str, Any] | None = None,
        cache_dir: Path | None = None,
    ) -> None:
        """``cache_dir`` keeps what can be made again: compiled templates.

        ``settings`` are told in a bug report, as they are given: without secrets."""
        limits = limits or Limits()
        renderer = Renderer(
            static_url=static_urls(resources.static_dir()),
            cache=cache_dir / "templates" if cache_dir else None,
        )
        press = Press(renderer)
        self._news = Gatherer(name="enso-rail", interval=RAIL_SECONDS, tell=self._tell_rail)
        self._logs = Gatherer(name="enso-logs", interval=LOG_SECONDS, tell=self._logs_changed)
        self._host = host
        self.registry = ThreadRegistry(
            host=host,
            idle_seconds=limits.idle_seconds,
            most_held=limits.most_held,
            publish=press.publish,
            rail_changed=self._news.report,
        )
        self.services = self._services(projects, press, renderer, limits, doors, settings or {})
        self.services.log.attach()
        self._news.start()
        self._logs.start()
        self._unwatch = host.on_change(self._logs.report)
        self.app = _flask(self.services, doors)

    def _services(
        self,
        projects: Projects,
        press: Press,
        renderer: Renderer,
        limits: Limits,
        doors: Doors,
        settings: Mapping[str, Any],
    ) -> Services:
        """What the routes are given."""
        host, registry = self._host, self.registry
        rail = Rail(host=host, registry=registry, projects=projects)
        return Services(
            host=host,
            projects=projects,
            registry=registry,
            reader=Reader(host=host, registry=registry, projects=projects),
            rail=rail,
            presenter=Presenter(host=host, registry=registry, rail=rail, projects=projects),
            press=press,
            renderer=renderer,
            sockets=threading.BoundedSemaphore(limits.follows),
            heartbeat_seconds=limits.heartbeat_seconds,
            log=RecentLog(),
            settings=settings,
            own_secrets=(doors.token,) if doors.token else (),
        )

    def _logs_changed(self, thread_ids: frozenset[str]) -> None:
        self.registry.log_changed(thread_ids)
        self._news.report(thread_ids)

    def _tell_rail(self, thread_ids: frozenset[str]) -> None:
        # Counted before it is asked who follows: whoever joins later sees that they missed it.
        self.services.rail.count_telling()
        follows = self.registry.every_follow()
        if not follows:
            return
        news = self.services.press.rail(self.services.rail.frame(thread_ids))
        for follow in follows:
            follow.tell(news)

    def drain(self) -> None:
        """End every follow so that browsers come back to the next server; take no more prompts."""
        self.registry.drain()

    def close(self) -> None:
        """End everything that runs, the host too."""
        self.services.log.detach()
        self._unwatch()
        self._logs.close()
        self._news.close()
        self.registry.close()
        self._host.close()


def _flask(services: Services, doors: Doors) -> Flask:
    app = Flask(
        "enso",
        static_folder=str(resources.static_dir()),
        static_url_path="/static",  # not the folder's name: a wheel has it under another
        template_folder=None,
    )
    app.url_rule_class = MatchingRule
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY
    app.config["MAX_FORM_MEMORY_SIZE"] = MAX_BODY
    app.config["MAX_FORM_PARTS"] = MAX_FORM_PARTS
    guard(app, doors)
    keep_versions(app, resources.static_dir())
    compress_pages(app)
    answer_errors(
        app, lambda status, sentence, whole: _error_page(services, status, sentence, whole)
    )
    app.register_blueprint(pages.blueprint(services))
    app.register_blueprint(lists.blueprint(services))
    app.register_blueprint(finding.blueprint(services))
    app.register_blueprint(behind_routes.blueprint(services))
    app.register_blueprint(picture_pages.blueprint(services))
    app.register_blueprint(tree_pages.blueprint(services))
    app.register_blueprint(commands.blueprint(services))
    app.register_blueprint(actions.page_blueprint(services))
    app.register_blueprint(api.blueprint(services))
    app.register_blueprint(actions.json_blueprint(services))
    app.register_blueprint(agui_routes.blueprint(services))
    app.register_blueprint(downloads.page_blueprint(services))
    app.register_blueprint(downloads.blueprint(services, prefix="", name="downloads"))
    app.register_blueprint(downloads.blueprint(services, prefix="/api", name="api-downloads"))
    follow_routes.register(app, services)
    return app


def _error_page(services: Services, status: int, sentence: str, whole: bool) -> str:
    # A person who may not come in sees no thread's title, and a fault does not read the rail again.
    shows_rail = whole and status not in {401, 421, 500}
    rail = services.presenter.rail(Urls(), RailRequest()) if shows_rail else None
    # A request of which too much came is not read again.
    wanted = wanted_page() if status == 401 else "/"
    view = services.presenter.error(status, sentence, rail, wanted=wanted)
    return services.renderer.error(view, page=whole)
