"""What a project and a person say to every thread: instructions, prompt templates and skills.

Pure functions over the files as they are now; what cannot be used is left out and told. Which
files, and which of two comes first: pi 1.6.0. Nothing here is run, and nothing is written.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

from enso.host.file_search.ignore_rules import GIT_IGNORE, Ignoring
from enso.host.json_lines import clean_text
from enso.host.runtimes.instructions.front_matter import (
    BadFrontMatter,
    MarkdownFile,
    read_front_matter,
)
from enso.host.runtimes.sizes import size_text

CONTEXT_FILE_NAMES: Final = (
    "AGENTS.override.md",
    "AGENTS.md",
    "AGENTS.MD",
    "CLAUDE.md",
    "CLAUDE.MD",
)
"""Of one directory, the first of these that can be read is taken."""

MAX_CONTEXT_BYTES: Final = 32 * 1024
"""Bytes of one file that go into the system prompt."""

MAX_MARKDOWN_BYTES: Final = 512 * 1024
"""A larger template or skill is left out."""

MAX_SKILL_DIRECTORIES: Final = 2_000
"""Directories that are looked through below one directory of skills."""

_PROJECT_OWN: Final = ".pi"
_AGENTS: Final = Path(".agents", "skills")

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Found(Generic[_Value]):
    """What was found, in order, and a sentence for each thing that could not be used."""

    values: tuple[_Value, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ContextFile:
    """Instructions of a directory. A long file is cut, which its content says."""

    path: Path
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTemplate:
    """A prompt that is called by its name; ``body`` has places for arguments."""

    name: str
    description: str
    argument_hint: str
    body: str
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """Instructions for one kind of work; paths in ``body`` are relative to ``directory``.

    ``model_may_choose`` is whether a model is told of it; a person can always call it.
    """

    name: str
    description: str
    body: str
    path: Path
    model_may_choose: bool

    @property
    def directory(self) -> Path:
        """Where the skill's own files are."""
        return self.path.parent


# -- instructions -------------------------------------------------------------------------------


def context_files(cwd: Path, agent_dir: Path) -> Found[ContextFile]:
    """The instructions for work in ``cwd``: the agent directory's, then from the root down.

    In a worktree that lies within its repository, the repository's own do not come twice.
    """
    problems: list[str] = []
    directories = [agent_dir, *reversed(cwd.parents), cwd]
    hidden = _shadowed_file(cwd)
    files: dict[Path, ContextFile] = {}
    for directory in directories:
        file = _context_file(directory, problems)
        if file is not None and _without_symlinks(file.path) != hidden:
            files.setdefault(file.path, file)
    return Found(tuple(files.values()), tuple(problems))


def _context_file(directory: Path, problems: list[str]) -> ContextFile | None:
    place = str(directory)
    if not os.access(place, os.X_OK):  # others' directories above the project are usual
        return None
    for name in CONTEXT_FILE_NAMES:
        # Before every prompt, most of these names are not there: no path is made of them.
        path = os.path.join(place, name)  # noqa: PTH118
        try:
            read = _read(path, MAX_CONTEXT_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            problems.append(_unreadable(path, error))
            continue
        if read is not None:
            return ContextFile(directory / name, _cut(*read))
    return None


def _cut(content: bytes, size: int) -> str:
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    if size <= len(content):
        return clean_text(text)
    text = text.removesuffix("\ufffd")
    shown, whole = size_text(MAX_CONTEXT_BYTES), size_text(size)
    return f"{text}\n\n[The first {shown} of {whole}. Read the file for the rest of it.]"


def _shadowed_file(cwd: Path) -> Path | None:
    """The file of a repository that the same file of a worktree within it stands for."""
    for directory in (cwd, *cwd.parents):
        git = directory / ".git"
        if git.is_dir():
            return None
        if git.is_file():
            return _shadowed_by(directory, git)
    return None


def _shadowed_by(worktree: Path, git: Path) -> Path | None:
    try:
        kind, _, there = git.read_text("utf-8", "replace").strip().partition(": ")
        own = worktree / there
        common = (own / "commondir").read_text("utf-8", "replace").strip()
    except OSError:
        return None
    repository = (own / common).resolve().parent
    inside = worktree.resolve() != repository and worktree.resolve().is_relative_to(repository)
    file = _context_file(worktree, [])
    if kind != "gitdir" or not inside or not (repository / ".git").is_dir() or file is None:
        return None
    return repository / file.path.name


def _without_symlinks(path: Path) -> Path:
    return path.parent.resolve() / path.name


# -- prompt templates ---------------------------------------------------------------------------


def prompt_templates(cwd: Path, agent_dir: Path) -> Found[PromptTemplate]:
    """The templates of the project, then of the person; the first of a name is taken."""
    problems: list[str] = []
    found: dict[str, PromptTemplate] = {}
    for directory in (cwd / _PROJECT_OWN / "prompts", agent_dir / "prompts"):
        for path in _markdown_files(directory):
            file = _markdown(path, problems)
            if file is not None:
                template = _template(path, file)
                _add(found, template.name, template, problems)
    return Found(tuple(found.values()), tuple(problems))


def _template(path: Path, file: MarkdownFile) -> PromptTemplate:
    lines = (line for line in file.body.split("\n") if line.strip())
    first = next(lines, "")
    described = file.text("description") or (f"{first[:60]}..." if len(first) > 60 else first)
    return PromptTemplate(
        name=clean_text(path.stem),
        description=described,
        argument_hint=file.text("argument-hint"),
        body=file.body,
        path=path,
    )


def _markdown_files(directory: Path) -> list[Path]:
    listed = (path for path in _listed(directory) if not path.name.startswith("."))
    return [path for path in listed if path.suffix == ".md" and _is_file(path)]


# -- skills -------------------------------------------------------------------------------------


def skills(cwd: Path, agent_dir: Path) -> Found[Skill]:
    """The skills of the project, then of the person; the first of a name is taken.

    A directory with a ``SKILL.md`` is one. Next to such directories a Markdown file with a
    description is one too. Looked for in ``.pi/skills`` and, up to the root of the repository,
    ``.agents/skills``; in the agent directory, and in the home directory's ``.agents/skills``.
    """
    problems: list[str] = []
    found: dict[str, Skill] = {}
    seen: set[Path] = set()
    for directory, loose in _skill_directories(cwd, agent_dir):
        for path in _skill_files(directory, loose=loose):
            real = path.resolve()
            file = _markdown(path, problems) if real not in seen else None
            seen.add(real)
            skill = _skill(path, file, problems) if file is not None else None
            if skill is not None:
                _add(found, skill.name, skill, problems)
    return Found(tuple(found.values()), tuple(problems))


def _skill(path: Path, file: MarkdownFile, problems: list[str]) -> Skill | None:
    if not file.text("description").strip():
        if path.name == "SKILL.md":
            problems.append(f"{path}: a skill needs a description.")
        return None
    return Skill(
        name=file.text("name") or clean_text(path.parent.name),
        description=file.text("description"),
        body=file.body.strip(),
        path=path,
        model_may_choose=file.fields.get("disable-model-invocation") is not True,
    )


def _skill_directories(cwd: Path, agent_dir: Path) -> Iterator[tuple[Path, bool]]:
    """Directories of skills, and whether Markdown files right in them are skills too."""
    yield cwd / _PROJECT_OWN / "skills", True
    persons_own = Path.home() / _AGENTS
    for directory in _up_to_repository(cwd):
        if directory / _AGENTS != persons_own:
            yield directory / _AGENTS, False
    yield agent_dir / "skills", True
    yield persons_own, False


def _up_to_repository(cwd: Path) -> Iterator[Path]:
    for directory in (cwd, *cwd.parents):
        yield directory
        if (directory / ".git").exists():
            return


def _skill_files(directory: Path, *, loose: bool) -> Iterator[Path]:
    if not os.path.lexists(directory):  # which is usual
        return
    kinds = (".fdignore", ".ignore", GIT_IGNORE)
    ignoring = Ignoring(kinds, needs_repository=False)
    yield from _skill_files_below(directory, ignoring, loose=loose, seen=set())


def _skill_files_below(
    directory: Path, ignoring: Ignoring, *, loose: bool, seen: set[Path]
) -> Iterator[Path]:
    real = directory.resolve()
    if real in seen or len(seen) >= MAX_SKILL_DIRECTORIES:
        return
    seen.add(real)
    listed = _listed(directory)
    inside = ignoring.inside(str(directory), (path.name for path in listed))
    taken = [path for path in listed if not _is_passed_over(path, inside)]
    own = next((path for path in taken if path.name == "SKILL.md" and _is_file(path)), None)
    if own is not None:
        yield own
        return
    for path in taken:
        if _is_directory(path):
            yield from _skill_files_below(path, inside, loose=False, seen=seen)
        elif loose and path.suffix == ".md" and _is_file(path):
            yield path


def _is_passed_over(path: Path, ignoring: Ignoring) -> bool:
    if path.name.startswith(".") or path.name == "node_modules":
        return True
    return ignoring.ignores(str(path), is_directory=_is_directory(path))


# -- files --------------------------------------------------------------------------------------


def _add(found: dict[str, _Value], name: str, value: _Value, problems: list[str]) -> None:
    if name in found:
        problems.append(f"{name!r} is there twice; the first one is taken.")
    else:
        found[name] = value


def _markdown(path: Path, problems: list[str]) -> MarkdownFile | None:
    try:
        read = _read(path, MAX_MARKDOWN_BYTES)
        if read is None:
            return None
        content, size = read
        if size > len(content):
            problems.append(f"{path} is larger than {size_text(MAX_MARKDOWN_BYTES)}.")
            return None
        return read_front_matter(clean_text(content.decode("utf-8", "replace")))
    except OSError as error:
        problems.append(_unreadable(path, error))
    except BadFrontMatter as error:
        problems.append(f"{path}, {error}.")
    return None


def _read(path: Path | str, limit: int) -> tuple[bytes, int] | None:
    """The first bytes of a regular file, and its size; ``None`` for anything else."""
    # not blocking: who opens a pipe would wait for its other end
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        return None
    with os.fdopen(handle, "rb") as file:
        content = file.read(limit)
    return content, max(len(content), found.st_size)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _listed(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError:  # there is none, which is usual
        return []


def _unreadable(path: Path | str, error: OSError) -> str:
    return f"{path} cannot be read: {error.strerror}."
