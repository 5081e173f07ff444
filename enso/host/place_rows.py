"""Where each entry of a session file is, and reading a few of them: all else is passed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO, Final

from msgspec import Struct, msgpack
from msgspec.json import Decoder

from enso.host.session_log import CURRENT_VERSION, Entry, EntryAdopter, read_lines
from enso.host.session_rows import Shape, StoredLine


class PlaceRow(Struct, gc=False, array_like=True):
    """One entry: its id, its parent's, and where its line begins."""

    id: str
    parent: str | None
    offset: int


def _row(_line: StoredLine, entry_id: str, parent: str | None, offset: int) -> PlaceRow:
    return PlaceRow(entry_id, parent, offset)


PLACES: Final = Shape(
    decode=Decoder(StoredLine).decode,
    line_of=lambda _entry: StoredLine(),
    row=_row,
    unpack=msgpack.Decoder(list[PlaceRow]).decode,
)
"""The reading of a file for its entries' places. Those of versions 1 and 2 are changed on reading,
by what stands before them: such a file is read whole."""


def read_places(
    stream: BinaryIO, rows: Sequence[PlaceRow], wanted: Iterable[int]
) -> Iterator[Entry]:
    """The entries at these places of a file of version 3, as a whole reading of it gives them.

    Ends at one that is not there any more: the file was changed.
    """
    for place in wanted:
        row = rows[place]
        stream.seek(row.offset)
        adopter = EntryAdopter(CURRENT_VERSION)
        adopter.last_id = row.parent  # of an entry that does not name its own
        for line in read_lines((stream.readline(),), row.offset):
            entry = adopter.adopt(line)
            if entry is None or entry["id"] != row.id:
                return
            yield entry
