"""What the operator may set: environment variables, and the same by options of ``python app.py``.

Each field's alias is its environment variable. A test compares this file with
the table in README.md, so that no setting stays undocumented.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator


def default_agent_dir() -> Path:
    """The agent directory when nothing is set: where pi keeps its own."""
    return Path.home() / ".pi" / "agent"


def default_cache_dir() -> Path:
    """Where derived data is kept when nothing is set: below the user's own cache directory."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "enso"


class Settings(BaseModel):
    """The settings of one server; raises pydantic's ``ValidationError`` naming what is wrong."""

    model_config = ConfigDict(
        frozen=True, populate_by_name=True, extra="ignore", validate_default=True
    )

    host: str = Field(
        "127.0.0.1", validation_alias="ENSO_HOST", description="Address to listen on."
    )
    port: int = Field(
        7433, ge=0, le=65535, validation_alias="ENSO_PORT", description="Port; 0 takes a free one."
    )
    projects: tuple[Path, ...] = Field(
        default_factory=lambda: (Path.cwd(),),
        validation_alias="ENSO_PROJECTS",
        description="Directories this server serves, joined by the system's path separator.",
    )
    agent_dir: Path = Field(
        default_factory=default_agent_dir,
        validation_alias="PI_CODING_AGENT_DIR",
        description="Where sessions, models.json and auth.json are kept.",
    )
    cache_dir: Path = Field(
        default_factory=default_cache_dir,
        validation_alias="ENSO_CACHE_DIR",
        description="Where caches are kept; may be deleted at any time.",
    )
    runtime: Literal["builtin", "pi", "auto"] = Field(
        "builtin", validation_alias="ENSO_RUNTIME", description="What runs a thread."
    )
    model: str | None = Field(
        None, validation_alias="ENSO_MODEL", description="Model of new threads: provider/model."
    )
    idle_seconds: float = Field(
        600,
        gt=0,
        validation_alias="ENSO_IDLE_SECONDS",
        description="How long a live thread may be idle before its runtime is ended.",
    )
    spend_limit: float | None = Field(
        None,
        gt=0,
        validation_alias="ENSO_SPEND_LIMIT",
        description="US dollars that one thread may spend before it asks you.",
    )
    token: SecretStr | None = Field(
        None,
        validation_alias="ENSO_TOKEN",
        description="Access token; required to listen anywhere but on loopback.",
    )

    @classmethod
    def told(cls, **options: Any) -> Settings:
        """What ``options`` say by field name, and of all other fields the environment."""
        variables = {str(field.validation_alias): name for name, field in cls.model_fields.items()}
        told = {
            variable: os.environ[variable]
            for variable, name in variables.items()
            if variable in os.environ and name not in options
        }
        return cls(**told, **options)

    @field_validator("projects", mode="before")
    @classmethod
    def _split_projects(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(Path(part) for part in value.split(os.pathsep) if part)
        return value

    @field_validator("agent_dir", "cache_dir", mode="after")
    @classmethod
    def _expand_home(cls, value: Path) -> Path:
        return value.expanduser()
