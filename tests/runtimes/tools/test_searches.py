"""The tools ``grep``, ``find`` and ``ls``: what they find, with every engine, and what not."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from enso.host.runtimes.builtin.tools import ToolOutcome
from enso.host.runtimes.builtin.tools.grep import GrepTool
from tests.runtimes.tools.calls import PATIENCE, call, in_loop, running, text
from tests.runtimes.tools.conftest import ENGINES


def make(project: Path, files: dict[str, str | bytes]) -> None:
    """Make files; a name with a slash at its end is a directory."""
    for name, content in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir()
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())


def found(outcome: ToolOutcome) -> list[str]:
    """The lines of an outcome."""
    return text(outcome).split("\n")


def files_found(grep: GrepTool, project: Path, **arguments: Any) -> list[str]:
    """The files in which ``grep`` finds ``FOUND``."""
    lines = found(call(grep, {"pattern": "FOUND", **arguments}, project))
    return [] if lines == ["No matches found"] else [line.split(":")[0] for line in lines]


# -- what is searched ---------------------------------------------------------------------------

RULES = {
    "names at any depth": ({".gitignore": "*.log\n"}, "a.txt d/a.txt d/e/a.txt"),
    "a directory": ({".gitignore": "d/\n"}, "a.log a.txt"),
    "a path from the root": ({".gitignore": "/d/e\n"}, "a.log a.txt d/a.log d/a.txt"),
    "a path in the middle": (
        {".gitignore": "d/*.log\n"},
        "a.log a.txt d/a.txt d/e/a.log d/e/a.txt",
    ),
    "what is taken back": (
        {".gitignore": "*.log\n!d/e/a.log\n"},
        "a.txt d/a.txt d/e/a.log d/e/a.txt",
    ),
    "nothing below what is ignored": ({".gitignore": "d\n!d/a.txt\n"}, "a.log a.txt"),
    "a file deeper down comes first": (
        {".gitignore": "*.log\n", "d/.gitignore": "!*.log\n"},
        "a.txt d/a.log d/a.txt d/e/a.log d/e/a.txt",
    ),
    "any directories between": (
        {".gitignore": "d/**/a.log\n"},
        "a.log a.txt d/a.txt d/e/a.txt",
    ),
    "comments, blanks and escapes": (
        {".gitignore": "# *.txt\n\n*.log  \n\\!a\n"},
        "a.txt d/a.txt d/e/a.txt",
    ),
    "characters and alternatives": ({".gitignore": "[!b].log\n{a,z}.tx?\n!/a.txt"}, "a.txt"),
    "other files of the kind": ({".ignore": "*.log\n"}, "a.txt d/a.txt d/e/a.txt"),
    "an order among them": (
        {".gitignore": "*.log\n", ".ignore": "!*.log\n"},
        "a.log a.txt d/a.log d/a.txt d/e/a.log d/e/a.txt",
    ),
    "the repository's own": ({".git/info/exclude": "*.log\n"}, "a.txt d/a.txt d/e/a.txt"),
    "a repository within": (
        {".gitignore": "*.log\n", "d/.git/HEAD": ""},
        "a.txt d/a.log d/a.txt d/e/a.log d/e/a.txt",
    ),
    "patterns that are none": ({".gitignore": "[\n{\n*.log\n"}, "a.txt d/a.txt d/e/a.txt"),
}
TREE = {f"{at}a.{end}": "FOUND\n" for at in ("", "d/", "d/e/") for end in ("log", "txt")}


@pytest.mark.parametrize("rules, expected", RULES.values(), ids=RULES.keys())
def test_what_is_ignored_is_not_searched(
    rules: dict[str, str], expected: str, grep: GrepTool, project: Path
) -> None:
    """Ignore files hold as git has them; ``find`` and ``grep`` agree."""
    make(project, {".git/HEAD": "", **TREE, **rules})
    assert files_found(grep, project) == expected.split()
    assert found(call("find", {"pattern": "a.*"}, project)) == expected.split()


def test_outside_of_a_repository_find_alone_minds_gitignore(grep: GrepTool, project: Path) -> None:
    """As in pi: ripgrep needs a repository, and fd is told that none is needed."""
    make(project, {".gitignore": "*.log\n", "a.log": "FOUND", "a.txt": "FOUND"})
    assert files_found(grep, project, glob="a.*") == ["a.log", "a.txt"]
    assert found(call("find", {"pattern": "a.*"}, project)) == ["a.txt"]


def test_rules_above_the_searched_directory_hold(grep: GrepTool, project: Path) -> None:
    """A search in a part of a repository knows the rules of the whole, up to its root."""
    make(project, {".gitignore": "*.py\n", "r/.git/HEAD": "", "r/.gitignore": "/d/*.log\n"})
    make(project, {"r/d/a.log": "FOUND", "r/d/a.py": "FOUND"})
    assert files_found(grep, project / "r", path="d") == ["a.py"]
    assert found(call("find", {"pattern": "a.*", "path": "d"}, project / "r")) == ["a.py"]


def test_a_persons_own_ignore_file_holds(
    grep: GrepTool, project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What git ignores everywhere for this person is not searched either."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / ".gitconfig").write_text("[core]\n\texcludesFile = ~/mine\n")
    (tmp_path / "mine").write_text("*.log\n")
    make(project, {".git/HEAD": "", "a.log": "FOUND", "a.txt": "FOUND"})
    assert files_found(grep, project) == ["a.txt"]


def test_hidden_files_are_searched_and_links_are_not_followed(
    grep: GrepTool, project: Path
) -> None:
    """A search sees dotfiles, finds a file once, and does not leave the directory."""
    make(project, {".env": "FOUND", "d/.hidden": "FOUND", "../outside": "FOUND"})
    (project / "link").symlink_to("d")
    (project / "away").symlink_to("../outside")
    (project / "d" / "loop").symlink_to("..")
    assert files_found(grep, project) == [".env", "d/.hidden"]
    paths = found(call("find", {"pattern": "*"}, project))
    assert paths == [".env", "away", "d/", "d/.hidden", "d/loop", "link"]


def test_a_searched_link_is_followed(grep: GrepTool, project: Path) -> None:
    """Who names a link means what it leads to."""
    make(project, {"d/a": "FOUND", "d/b/c": "FOUND"})
    (project / "link").symlink_to("d")
    (project / "file").symlink_to("d/a")
    assert files_found(grep, project, path="link") == ["a", "b/c"]
    assert files_found(grep, project, path="file") == ["file"]
    assert found(call("find", {"pattern": "c", "path": "link"}, project)) == ["b/c"]
    assert found(call("ls", {"path": "link"}, project)) == ["a", "b/"]


def test_a_named_file_is_searched_though_it_is_ignored(grep: GrepTool, project: Path) -> None:
    """A path is a wish."""
    make(project, {".git/HEAD": "", ".gitignore": "*\n", "a.log": "FOUND"})
    assert files_found(grep, project, path="a.log") == ["a.log"]


@pytest.mark.parametrize(
    "glob, expected",
    [
        ("*.txt", ["a.txt", "d/a.txt", "d/e/a.txt"]),
        ("d/*.txt", ["d/a.txt"]),
        ("/*.txt", ["a.txt"]),
        ("./d/*", ["d/a.log", "d/a.txt"]),
        ("**/e/*", ["d/e/a.log", "d/e/a.txt"]),
        ("d/**/*.log", ["d/a.log", "d/e/a.log"]),
        ("*.{log,md}", ["a.log", "d/a.log", "d/e/a.log"]),
        ("!d", ["a.log", "a.txt"]),
        ("!*.log", ["a.txt", "d/a.txt", "d/e/a.txt"]),
        ("?.t[w-y]t", ["a.txt", "d/a.txt", "d/e/a.txt"]),
        ("d", []),
    ],
)
def test_a_glob_chooses_files(
    glob: str, expected: list[str], grep: GrepTool, project: Path
) -> None:
    """A glob without a slash is for names, one with a slash for paths; ``!`` leaves out."""
    make(project, dict(TREE))
    assert files_found(grep, project, glob=glob) == expected


def test_a_glob_finds_what_git_ignores(grep: GrepTool, project: Path) -> None:
    """Files that are asked for by their names are searched, as ripgrep has it."""
    make(project, {".git/HEAD": "", ".gitignore": "*.log\n", **TREE})
    assert files_found(grep, project, glob="*.log") == ["a.log", "d/a.log", "d/e/a.log"]


@pytest.mark.parametrize(
    "content, lines",
    [
        (b"x\0x\n", []),
        (b"x\n" + b"y\n" * 40_000 + b"\0\nx\n", [1]),
        (b"x\xff\n\xc3\nx\n", [1, 3]),
        (b"\xef\xbb\xbfx\ny\n", [1]),
        ("x\ny\nx".encode("utf-16"), [1, 3]),
        (b"y\r\nx\r\ny\r\n", [2]),
        (b"a\rx\n", [1]),
        (b"", []),
        (b"\n\n\nx", [4]),
    ],
    ids=["NUL", "NUL later", "no UTF-8", "mark", "UTF-16", "CRLF", "CR", "empty", "no last end"],
)
def test_files_of_every_kind_are_searched(
    content: bytes, lines: list[int], grep: GrepTool, project: Path
) -> None:
    """Text is searched however it is stored; a binary file is not."""
    make(project, {"f": content})
    outcome = call(grep, {"pattern": "x"}, project)
    shown = [] if text(outcome) == "No matches found" else found(outcome)
    assert [int(line.split(":")[1]) for line in shown] == lines


# -- patterns -----------------------------------------------------------------------------------

SAID = "def total(lines):\n\treturn sum(lines) # 42%\nTotal: Größe 7\n\na.b [x] \\ end\n"


@pytest.mark.parametrize(
    "arguments, lines",
    [
        ({"pattern": "total"}, [1]),
        ({"pattern": "total", "ignoreCase": True}, [1, 3]),
        ({"pattern": "(?i)TOTAL"}, [1, 3]),
        ({"pattern": r"^\s+return"}, [2]),
        ({"pattern": r"\d+%?$"}, [2, 3]),
        ({"pattern": "a.b", "literal": True}, [5]),
        ({"pattern": "[x]", "literal": True}, [5]),
        ({"pattern": r"\[x\]"}, [5]),
        ({"pattern": "[[:upper:]]"}, [3]),
        ({"pattern": "[^[:space:][:alpha:]]%"}, [2]),
        ({"pattern": r"Gr\w+e\b"}, [3]),
        ({"pattern": r"Gr\x{f6}ße"}, [3]),
        ({"pattern": "größe", "ignoreCase": True}, [3]),
        ({"pattern": "^$"}, [4]),
        ({"pattern": ""}, [1, 2, 3, 4, 5]),
        ({"pattern": r"\s"}, [1, 2, 3, 5]),
        ({"pattern": "[^a]$"}, [1, 2, 3, 5]),
        ({"pattern": r"lines\):\s+return"}, []),
        ({"pattern": r"sum\((?P<what>\w+)\)"}, [2]),
        ({"pattern": "[]x]"}, [5]),
        ({"pattern": r"\\"}, [5]),
        ({"pattern": "-", "literal": True}, []),
    ],
    ids=lambda value: value["pattern"] if isinstance(value, dict) else "",
)
def test_a_pattern_means_what_it_means_to_ripgrep(
    arguments: dict[str, Any], lines: list[int], grep: GrepTool, project: Path
) -> None:
    """Patterns find whole lines one by one, with the classes and escapes that ripgrep has."""
    make(project, {"f": SAID})
    outcome = call(grep, arguments, project)
    shown = [] if text(outcome) == "No matches found" else found(outcome)
    assert [int(line.split(":")[1]) for line in shown] == lines


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "[z-a]", "(?=x)", r"(x)\1", "a\nb", "*"])
def test_a_pattern_that_is_none_is_said(pattern: str, grep: GrepTool, project: Path) -> None:
    """The model is told that the pattern is wrong, and in which it is."""
    make(project, {"f": "x"})
    outcome = call(grep, {"pattern": pattern}, project)
    assert outcome.is_error
    assert "regex" in text(outcome)


def test_a_glob_that_is_none_is_said(grep: GrepTool, project: Path) -> None:
    """The model is told that the glob is wrong."""
    make(project, {"f": "x"})
    for tool, arguments in ((grep, {"pattern": "x", "glob": "[a"}), ("find", {"pattern": "{a"})):
        outcome = call(tool, arguments, project)
        assert outcome.is_error
        assert "glob" in text(outcome)


def test_a_pattern_without_end_can_be_cancelled(project: Path) -> None:
    """A search for which the time never comes ends when its call does, and holds up no other."""
    make(project, {"slow": "a" * 5000 + "b\n", "quick": "x\n"})
    own = ENGINES["own"]

    async def both() -> list[str]:
        slow = asyncio.ensure_future(running(own, {"pattern": "(a*)*c"}, project))
        quick = await asyncio.wait_for(running(own, {"pattern": "x"}, project), PATIENCE)
        assert not slow.done()
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        return found(quick)

    assert in_loop(both()) == ["quick:1: x"]


# -- what is shown ------------------------------------------------------------------------------


def test_files_come_in_the_order_of_their_names(grep: GrepTool, project: Path) -> None:
    """A limit cuts at the same place every time, whatever searches."""
    names = ["B", "a", "a-b", "a.b", "a/z", "aa", "ä", "Z/a", "z"]
    make(project, {name if "/" in name else f"{name}.t": "FOUND\n" for name in names})
    expected = ["B.t", "Z/a", "a-b.t", "a.b.t", "a.t", "a/z", "aa.t", "z.t", "ä.t"]
    expected.sort(key=lambda name: [os.fsencode(part) for part in name.split("/")])
    assert files_found(grep, project) == expected
    outcome = call(grep, {"pattern": "FOUND", "limit": 3}, project)
    assert found(outcome)[:3] == [f"{name}:1: FOUND" for name in expected[:3]]
    assert found(outcome)[4] == "[3 matches limit reached. Use limit=6 for more, or refine pattern]"
    assert outcome.details == {"matchLimitReached": 3}


def test_a_limit_that_nothing_exceeds_is_not_mentioned(grep: GrepTool, project: Path) -> None:
    """As many matches as the limit are all of them."""
    make(project, {"f": "x\nx\nx\n"})
    outcome = call(grep, {"pattern": "x", "limit": 3}, project)
    assert text(outcome) == "f:1: x\nf:2: x\nf:3: x"
    assert outcome.details is None


def test_lines_around_a_match_are_shown_once(grep: GrepTool, project: Path) -> None:
    """Context of matches close to each other is not repeated, and ends with the file."""
    make(project, {"f": "a\nx\nb\nx\nc\nd\ne\nx"})
    outcome = call(grep, {"pattern": "x", "context": 1}, project)
    shown = "f-1- a\nf:2: x\nf-3- b\nf:4: x\nf-5- c\nf-7- e\nf:8: x"
    assert text(outcome) == shown


def test_the_context_of_the_last_match_within_the_limit_is_whole(
    grep: GrepTool, project: Path
) -> None:
    """A match within the context of the last one is shown as context."""
    make(project, {"f": "x1\nx2\nx3\nx4\n"})
    outcome = call(grep, {"pattern": "x", "context": 2, "limit": 1}, project)
    assert found(outcome)[:3] == ["f:1: x1", "f-2- x2", "f-3- x3"]
    assert outcome.details == {"matchLimitReached": 1}


def test_results_are_cut_by_their_size(grep: GrepTool, project: Path) -> None:
    """50 KB are shown, in whole lines, and what there was is counted."""
    make(project, {"f": ("x" * 400 + "\n") * 1000})
    outcome = call(grep, {"pattern": "x", "limit": 5000}, project)
    assert text(outcome).endswith("\n\n[50.0KB limit reached]")
    assert outcome.details is not None
    assert outcome.details["truncation"]["totalLines"] == 1000
    assert outcome.details["truncation"]["outputLines"] < 130


def test_long_lines_are_cut_at_whole_characters(grep: GrepTool, project: Path) -> None:
    """500 units of a line are shown; a character that takes two of them is not cut in half."""
    make(project, {"f": "a" + "🙂" * 300 + "\n"})
    outcome = call(grep, {"pattern": "a"}, project)
    assert found(outcome)[0] == "f:1: a" + "🙂" * 249 + "... [truncated]"
    assert outcome.details == {"linesTruncated": True}


def test_a_line_of_many_megabytes_is_left_out_and_said(grep: GrepTool, project: Path) -> None:
    """Memory stays bounded; that a line was not looked at is not hidden."""
    make(project, {"f": b"x" * 17_000_000 + b"\n", "g": "x\n"})
    notice = "\n\n[Lines of many megabytes are left out]"
    assert text(call(grep, {"pattern": "x$", "path": "f"}, project)) == f"No matches found{notice}"
    assert text(call(grep, {"pattern": "x$"}, project)) == f"g:1: x{notice}"


def test_what_is_no_file_is_not_searched(grep: GrepTool, project: Path) -> None:
    """A link to nowhere is passed over, and nobody waits for the other end of a pipe."""
    make(project, {"f": "FOUND\n"})
    (project / "gone").symlink_to("nowhere")
    os.mkfifo(project / "pipe")
    assert files_found(grep, project) == ["f"]
    named = call(grep, {"pattern": "x", "path": "pipe"}, project)
    assert text(named) == f"Neither a directory nor a regular file: {project}/pipe"


def test_find_is_case_sensitive_when_the_pattern_is(project: Path) -> None:
    """A pattern of small letters finds large ones too, one with a large letter does not."""
    make(project, {"README.md": "", "readme.txt": "", "src/Readme.rs": ""})
    every = ["README.md", "readme.txt", "src/Readme.rs"]
    assert found(call("find", {"pattern": "readme.*"}, project)) == every
    assert found(call("find", {"pattern": "README.*"}, project)) == ["README.md"]


@pytest.mark.parametrize(
    "pattern, expected",
    [
        ("d/*", ["d/a.log", "d/a.txt", "d/e/"]),
        ("d/**", ["d/a.log", "d/a.txt", "d/e/", "d/e/a.log", "d/e/a.txt"]),
        ("**/a.log", ["a.log", "d/a.log", "d/e/a.log"]),
        ("./d/a.*", ["d/a.log", "d/a.txt"]),
        ("e", ["d/e/"]),
        ("{cwd}/d/*.log", ["d/a.log"]),
    ],
)
def test_find_matches_names_or_paths(pattern: str, expected: list[str], project: Path) -> None:
    """A pattern with a slash is for paths, one without for names; directories end with one."""
    make(project, dict(TREE))
    told = pattern.replace("{cwd}", str(project.resolve()))
    assert found(call("find", {"pattern": told}, project)) == expected


def test_find_leaves_out_what_is_gits_own(project: Path) -> None:
    """The store of a repository is not part of the project."""
    make(project, {".git/HEAD": "", ".gitignore": "", "d/.git/HEAD": ""})
    assert found(call("find", {"pattern": "*"}, project)) == [".gitignore", "d/"]


def test_find_says_that_there_are_more(project: Path) -> None:
    """A limit is mentioned when something lies beyond it, and only then."""
    make(project, {"a": "", "b": "", "c": ""})
    outcome = call("find", {"pattern": "*", "limit": 2}, project)
    assert text(outcome) == (
        "a\nb\n\n[2 results limit reached. Use limit=4 for more, or refine pattern]"
    )
    assert outcome.details == {"resultLimitReached": 2}
    assert text(call("find", {"pattern": "*", "limit": 3}, project)) == "a\nb\nc"


@pytest.mark.parametrize("tool", ["find", "ls"])
def test_what_is_no_directory_is_said(tool: str, project: Path) -> None:
    """A path that leads nowhere, or to a file, is named."""
    make(project, {"f": ""})
    told = {"pattern": "*"} if tool == "find" else {}
    gone = call(tool, {**told, "path": "gone"}, project)
    file = call(tool, {**told, "path": "f"}, project)
    assert text(gone) == f"Path not found: {project}/gone"
    assert text(file) == f"Not a directory: {project}/f"
    assert gone.is_error
    assert file.is_error


def test_names_that_are_no_text_can_be_stored(grep: GrepTool, project: Path) -> None:
    """A name of bytes that are no UTF-8 is shown with replacements, by every tool."""
    (Path(os.fsdecode(os.fsencode(project) + b"/n\xff.txt"))).write_text("x\n")
    for tool, arguments in ((grep, {"pattern": "x"}), ("find", {"pattern": "*"}), ("ls", {})):
        assert text(call(tool, arguments, project)).startswith("n\ufffd.txt")


def test_a_name_order_for_people(project: Path) -> None:
    """Names are in the order in which JavaScript's ``localeCompare`` has them."""
    names = ["_a", "-a", ",a", "!a", ".a", "'a", "(a", "[a", "{a", "@a", "#a", "%a", "+a", "=a"]
    names += ["~a", "$a", "0", "10", "9", "a", "a_b", "a-b", "a.b", "a0", "aa", "ä", "äb", "az"]
    names += ["B", "c", "ß", "z", "é"]
    make(project, dict.fromkeys(names, ""))
    recorded = "_a -a ,a !a .a 'a (a [a {a @a #a %a +a =a ~a $a 0 10 9 a ä a_b a-b a.b a0 aa äb az"
    recorded += " B c é ß z"
    assert found(call("ls", {}, project)) == recorded.split()


def test_ls_shows_a_limited_number_of_names_and_says_so(project: Path) -> None:
    """A large directory is cut, with where to go on."""
    make(project, {f"{number:04d}": "" for number in range(600)})
    outcome = call("ls", {}, project)
    assert found(outcome)[499] == "0499"
    assert found(outcome)[501] == "[500 entries limit reached. Use limit=1000 for more]"
    assert outcome.details == {"entryLimitReached": 500}
