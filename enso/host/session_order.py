"""The rows that are known, kept in order: which file an id stands for, and the newest first.

Owns the choice among files that hold one id, and the rule that only served directories are listed.
A change costs what it changes, and a row is made when it is asked for. Not thread-safe: the
listing's lock is held.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Final, overload

from enso.host.contract import StoredThread
from enso.host.session_look import RowFile, modified_ms
from enso.projects import Projects

_Key = tuple[int, str, RowFile]
"""A listed file behind what it is ordered by, which no two files share."""
_order_of: Final = itemgetter(0, 1)
_MANY: Final = 100
_SORTED: Final = 10
"""Changes at once beyond which sorting anew is cheaper than putting each in its place: so many,
and one in so many of all."""


_directory = lru_cache(maxsize=4096)(Path)  # many threads share one


def _path(text: str) -> Path:
    directory, _, name = text.rpartition("/")
    return _directory(directory) / name if directory else Path(text)


def row_of(file: RowFile) -> StoredThread | None:
    """The row; ``None`` for a file that is no thread."""
    facts = file.facts
    if facts is None:
        return None
    return StoredThread(
        id=facts.id,
        path=_path(file.path),
        cwd=_directory(facts.cwd),
        modified=datetime.fromtimestamp(modified_ms(file) / 1000, UTC),
        message_count=facts.message_count,
        first_message=facts.first_message,
        name=facts.name,
        end=facts.end,
    )


class _Rows:
    """The rows of files, made when they are asked for: one file has one row."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[RowFile, StoredThread]] = {}

    def of(self, file: RowFile) -> StoredThread:
        """The row of a file that is a thread."""
        made = self._made.get(file.path)
        if made is not None and made[0] is file:
            return made[1]
        row = row_of(file)
        if row is None:
            raise ValueError(f"{file.path} is no thread")
        self._made[file.path] = file, row
        return row

    def forget(self, path: str) -> None:
        """Forget the row of a file that went or changed."""
        self._made.pop(path, None)


class NewestFirst(Sequence[StoredThread]):
    """The rows of these files; usable from any worker, and never another list than it was."""

    def __init__(self, oldest_first: Sequence[_Key], rows: _Rows) -> None:
        self._keys = oldest_first
        self._rows = rows

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, index: int) -> StoredThread: ...
    @overload
    def __getitem__(self, index: slice) -> list[StoredThread]: ...
    def __getitem__(self, index: int | slice) -> StoredThread | list[StoredThread]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self._rows.of(self._keys[-1 - index][2])

    def __iter__(self) -> Iterator[StoredThread]:
        return map(self._rows.of, map(itemgetter(2), reversed(self._keys)))


class RowOrder:
    """Files with their rows, by path, by id and in the rail's order."""

    def __init__(self, projects: Projects) -> None:
        self._projects = projects
        self._served: dict[str, bool] = {}
        self._files: dict[str, RowFile] = {}
        self._by_id: dict[str, tuple[RowFile, ...]] = {}
        self._listed: dict[str, _Key] = {}
        self._keys: list[_Key] = []
        self._rows = _Rows()
        self._newest_first: NewestFirst | None = None

    @property
    def files(self) -> dict[str, RowFile]:
        """Every file by its path, also one that is no thread; not to be changed."""
        return self._files

    def newest_first(self) -> Sequence[StoredThread]:
        """The listed rows, each id once; put together anew only when something changed."""
        if self._newest_first is None:
            self._newest_first = NewestFirst(self._keys.copy(), self._rows)
        return self._newest_first

    def files_of(self, thread_id: str) -> tuple[RowFile, ...]:
        """The files that hold this id."""
        return self._by_id.get(thread_id, ())

    def chosen(self, thread_id: str) -> StoredThread | None:
        """The row that an id stands for, listed or not."""
        file = self._chosen(self.files_of(thread_id))
        return self._rows.of(file) if file is not None else None

    def put(self, files: Iterable[RowFile], gone: Iterable[str] = ()) -> set[str]:
        """Take files as they now are, and paths that are no more; returns the ids they held and
        hold."""
        touched: dict[str, None] = {}  # in the order of the files, which is nearly that of the rows
        for path in gone:
            self._drop(path, touched)
        for file in files:
            path, facts = file.path, file.facts
            if path in self._files:
                self._drop(path, touched)
            self._files[path] = file
            if facts is not None:
                others = self._by_id.get(facts.id)
                self._by_id[facts.id] = (file,) if others is None else (*others, file)
                touched[facts.id] = None
        self._list_anew(touched)
        return set(touched)

    def serve_anew(self) -> None:
        """Ask again which directories are served, and list what that changes."""
        before, self._served = self._served, {}
        changed = {cwd for cwd, served in before.items() if self._serves(cwd) != served}
        if changed:
            files = self._files.values()
            self._list_anew({f.facts.id for f in files if f.facts and f.facts.cwd in changed})

    def serves(self, cwd: Path) -> bool:
        """Whether threads of this directory are listed."""
        return self._serves(str(cwd))

    def _serves(self, cwd: str) -> bool:
        served = self._served.get(cwd)
        if served is None:
            served = self._served[cwd] = self._projects.serves(Path(cwd))
        return served

    def _drop(self, path: str, touched: dict[str, None]) -> None:
        file = self._files.pop(path, None)
        if file is None or file.facts is None:
            return
        self._rows.forget(path)
        thread_id = file.facts.id
        touched[thread_id] = None
        left = tuple(one for one in self._by_id[thread_id] if one is not file)
        if left:
            self._by_id[thread_id] = left
        else:
            del self._by_id[thread_id]

    def _chosen(self, files: tuple[RowFile, ...]) -> RowFile | None:
        """The file among those of one id: a served one, the newest, the last by path."""
        if len(files) < 2:
            return files[0] if files else None
        return max(files, key=lambda file: (self._is_served(file), modified_ms(file), file.path))

    def _is_served(self, file: RowFile) -> bool:
        return file.facts is not None and self._serves(file.facts.cwd)

    def _list_anew(self, ids: Collection[str]) -> None:
        """Bring the order up to date with what these ids stand for now."""
        if not ids:
            return
        self._newest_first = None
        if len(ids) > _MANY and len(ids) * _SORTED > len(self._listed):
            self._list_many(ids)
            return
        for thread_id in ids:
            listed = self._listed.pop(thread_id, None)
            if listed is not None:
                del self._keys[bisect_left(self._keys, listed[:2], key=_order_of)]
            file = self._chosen(self.files_of(thread_id))
            if file is not None and self._is_served(file):
                key = self._listed[thread_id] = modified_ms(file), file.path, file
                insort(self._keys, key, key=_order_of)

    def _list_many(self, ids: Iterable[str]) -> None:
        """The same for many at once, by sorting anew."""
        listed, by_id, served = self._listed, self._by_id, self._served
        for thread_id in ids:
            files = by_id.get(thread_id, ())
            file = files[0] if len(files) == 1 else self._chosen(files)
            if file is None or file.facts is None:
                listed.pop(thread_id, None)
            elif served.get(file.facts.cwd) or self._serves(file.facts.cwd):
                listed[thread_id] = modified_ms(file), file.path, file
            else:
                listed.pop(thread_id, None)
        self._keys = sorted(listed.values())
