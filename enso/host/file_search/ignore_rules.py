"""Which paths of a tree are ignored: the rules of ``.gitignore`` and its kin, as ripgrep has them.

The last rule of a file that matches holds, a file deeper in the tree comes before one above it, and
the kinds of files have an order among them. Rules of a repository end at its root.
Source: the gitignore format of git, and the crate ignore 0.4.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .globs import BadGlob, compile_glob

GIT_IGNORE: Final = ".gitignore"
_EXCLUDES_FILE: Final = re.compile(r"(?im)^\s*excludesfile\s*=\s*\"?([^\"\n]*?)\"?\s*$")


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file. ``takes_back`` is a line with ``!``."""

    pattern: re.Pattern[str]
    takes_back: bool
    directories_only: bool


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one file, for paths below ``base`` (absolute)."""

    base: str
    rules: tuple[Rule, ...]

    @property
    def name_some(self) -> bool:
        """Whether some of the rules are without ``!``."""
        return not all(rule.takes_back for rule in self.rules)

    def ignores(self, path: str, *, is_directory: bool) -> bool | None:
        """Whether an absolute path is ignored; ``None`` when no rule says anything of it."""
        inside = path[len(self.base.rstrip("/")) + 1 :]
        for rule in reversed(self.rules):
            if rule.directories_only and not is_directory:
                continue
            if rule.pattern.match(inside):
                return not rule.takes_back
        return None


def parse_rules(text: str, base: str) -> Rules:
    """The rules of an ignore file; lines that hold no pattern are passed over."""
    rules = [rule for line in text.split("\n") if (rule := _parse_rule(line)) is not None]
    return Rules(base, tuple(rules))


def _parse_rule(line: str) -> Rule | None:
    if line.startswith("#"):
        return None
    line = _without_blanks_at_end(line)
    takes_back = line.startswith("!")
    line = line[1:] if takes_back else line
    directories_only = line.endswith("/")
    line = line.rstrip("/") if directories_only else line
    if not line:
        return None
    anchored = "/" in line
    glob = line.lstrip("/") if anchored else f"**/{line}"
    try:
        return Rule(compile_glob(glob), takes_back, directories_only)
    except BadGlob:
        return None


def _without_blanks_at_end(line: str) -> str:
    stripped = line.rstrip(" \t\r")
    blank_is_escaped = stripped.endswith("\\") and len(stripped) < len(line)
    return f"{stripped} " if blank_is_escaped else stripped


@dataclass(frozen=True, slots=True)
class Ignoring:
    """What is ignored below one directory, with all that holds from above.

    ``kinds`` are the names of ignore files, the first of them before the others; ``levels`` are
    the directories from the innermost on.
    """

    kinds: tuple[str, ...]
    needs_repository: bool
    levels: tuple[_Level, ...] = ()
    everywhere: Rules | None = None

    def ignores(self, path: str, *, is_directory: bool) -> bool:
        """Whether an absolute path right below the innermost directory is ignored."""
        for kind in self.kinds:
            said = self._say(kind, path, is_directory=is_directory)
            if said is not None:
                return said
        if self.everywhere is None or not self._in_repository():
            return False
        return bool(self.everywhere.ignores(path, is_directory=is_directory))

    def inside(self, directory: str, names: Iterable[str]) -> Ignoring:
        """What is ignored below a directory that is entered; ``names`` are what is in it."""
        level = _read_level(directory, self.kinds, frozenset(names))
        if not level.rules and not level.is_repository:
            return self
        levels = (level, *self.levels)
        return Ignoring(self.kinds, self.needs_repository, levels, self.everywhere)

    def _say(self, kind: str, path: str, *, is_directory: bool) -> bool | None:
        of_git = kind in {GIT_IGNORE, _EXCLUDE}
        if of_git and not self._in_repository():
            return None
        for level in self.levels:
            rules = level.rules.get(kind)
            said = rules.ignores(path, is_directory=is_directory) if rules else None
            if said is not None:
                return said
            if of_git and level.is_repository:
                return None
        return None

    def _in_repository(self) -> bool:
        return not self.needs_repository or any(level.is_repository for level in self.levels)


@dataclass(frozen=True, slots=True)
class _Level:
    rules: dict[str, Rules]
    is_repository: bool


_EXCLUDE: Final = ".git/info/exclude"


def ignoring_from_above(
    directory: str, kinds: Sequence[str], *, needs_repository: bool
) -> Ignoring:
    """What holds in ``directory`` (absolute) by the directories above it, and for this person."""
    all_kinds = (*kinds, GIT_IGNORE, _EXCLUDE)
    everywhere = _read_rules(_global_file(), directory)
    ignoring = Ignoring(all_kinds, needs_repository, (), everywhere)
    above = [str(parent) for parent in Path(directory).parents]
    for parent in reversed(above):
        ignoring = ignoring.inside(parent, _present(parent, all_kinds))
    return ignoring


def _present(directory: str, kinds: Sequence[str]) -> list[str]:
    names = (*kinds, ".git")
    return [name for name in names if os.path.lexists(Path(directory, name))]


def _read_level(directory: str, kinds: Sequence[str], names: frozenset[str]) -> _Level:
    rules: dict[str, Rules] = {}
    is_repository = ".git" in names
    for kind in kinds:
        if kind in names or (kind == _EXCLUDE and is_repository):
            found = _read_rules(Path(directory, kind), directory)
            if found is not None:
                rules[kind] = found
    return _Level(rules, is_repository)


def _read_rules(file: Path, base: str) -> Rules | None:
    try:
        text = file.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return None
    return parse_rules(text.removeprefix("\ufeff"), base)


def _global_file() -> Path:
    home = Path(os.environ.get("HOME", "/"))
    configured = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    for file in (home / ".gitconfig", configured / "git" / "config"):
        try:
            found = _EXCLUDES_FILE.search(file.read_text("utf-8", "replace"))
        except OSError:
            continue
        if found is not None:
            return Path(found.group(1).replace("~", str(home), 1))
    return configured / "git" / "ignore"
