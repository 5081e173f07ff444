"""What a project and a person say to every thread: instructions, templates and skills."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies

from enso.host.runtimes.instructions.front_matter import (
    BadFrontMatter,
    FieldValue,
    read_front_matter,
)
from enso.host.runtimes.instructions.project_context import (
    MAX_CONTEXT_BYTES,
    MAX_MARKDOWN_BYTES,
    context_files,
    prompt_templates,
    skills,
)
from enso.host.runtimes.instructions.template_arguments import expand_template, split_arguments


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory without anything in it."""
    directory = tmp_path / "home"
    directory.mkdir()
    monkeypatch.setenv("HOME", str(directory))
    return directory


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A directory with an agent directory and a project in it."""
    for name in ("agent", "top/repo/project"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path / "top"


@pytest.fixture
def project(top: Path) -> Path:
    """The project's directory, within a repository."""
    (top / "repo" / ".git").mkdir()
    (top / "repo" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return top / "repo" / "project"


@pytest.fixture
def agent_dir(tmp_path: Path, top: Path) -> Path:
    """The agent directory."""
    return tmp_path / "agent"


def put(path: Path, text: str) -> None:
    """Write a file, and make the directories that lead to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


# -- instructions -------------------------------------------------------------------------------


def contents(cwd: Path, agent_dir: Path) -> list[str]:
    """The instructions for work in a directory."""
    return [file.content for file in context_files(cwd, agent_dir).values]


def test_instructions_come_from_the_person_then_from_the_root_down(
    top: Path, project: Path, agent_dir: Path
) -> None:
    """The nearest instructions come last, and so have the last word."""
    put(agent_dir / "AGENTS.md", "person")
    put(top / "CLAUDE.md", "top")
    put(project / "AGENTS.md", "project")
    put(project.parent / "AGENTS.MD", "repository")
    put(project / "below" / "AGENTS.md", "below")
    assert contents(project, agent_dir) == ["person", "top", "repository", "project"]
    paths = [file.path for file in context_files(project, agent_dir).values]
    assert paths[-1] == project / "AGENTS.md"


def test_one_file_of_a_directory_is_taken(project: Path, agent_dir: Path) -> None:
    """The names have an order; one that overrides comes first."""
    put(project / "CLAUDE.md", "claude")
    assert contents(project, agent_dir) == ["claude"]
    put(project / "AGENTS.md", "agents")
    assert contents(project, agent_dir) == ["agents"]
    put(project / "AGENTS.override.md", "override")
    assert contents(project, agent_dir) == ["override"]


def test_a_project_in_the_agent_directory_hears_the_person_once(agent_dir: Path) -> None:
    """A file that is met twice is told once."""
    put(agent_dir / "AGENTS.md", "person")
    assert contents(agent_dir, agent_dir) == ["person"]


def test_a_long_file_is_cut_and_says_so(project: Path, agent_dir: Path) -> None:
    """The beginning is told, in whole characters, and where the rest is."""
    put(project / "AGENTS.md", "€" * 20_000)
    (content,) = contents(project, agent_dir)
    text, _, notice = content.partition("\n\n")
    assert text == "€" * (MAX_CONTEXT_BYTES // 3)
    assert notice == "[The first 32.0KB of 58.6KB. Read the file for the rest of it.]"


def test_a_mark_and_bytes_that_are_no_text_do_no_harm(project: Path, agent_dir: Path) -> None:
    """A byte order mark is left out, other bytes become U+FFFD."""
    (project / "AGENTS.md").write_bytes(b"\xef\xbb\xbfa\xff\n")
    assert contents(project, agent_dir) == ["a\ufffd\n"]


def test_what_is_no_file_is_passed_over(project: Path, agent_dir: Path) -> None:
    """A directory or a pipe of this name, or a link to nowhere, leaves the next name its turn."""
    (project / "AGENTS.override.md").mkdir()
    os.mkfifo(project / "AGENTS.md")
    (project / "AGENTS.MD").symlink_to("nowhere")
    put(project / "CLAUDE.md", "claude")
    found = context_files(project, agent_dir)
    assert [file.content for file in found.values] == ["claude"]
    assert found.problems == ()


def test_a_file_that_cannot_be_read_is_told_and_passed_over(project: Path, agent_dir: Path) -> None:
    """The person hears why instructions are missing."""
    (project / "AGENTS.md").symlink_to("AGENTS.md")
    put(project / "CLAUDE.md", "claude")
    found = context_files(project, agent_dir)
    assert [file.content for file in found.values] == ["claude"]
    says = f"{project}/AGENTS.md cannot be read: Too many levels of symbolic links."
    assert found.problems == (says,)


def test_an_agent_directory_that_is_not_there_says_nothing(project: Path, tmp_path: Path) -> None:
    """Nor one that is a file."""
    put(tmp_path / "file", "")
    for agent_dir in (tmp_path / "gone", tmp_path / "file"):
        assert context_files(project, agent_dir).problems == ()
        assert prompt_templates(project, agent_dir).problems == ()
        assert skills(project, agent_dir).problems == ()


def worktree(repository: Path, directory: Path) -> None:
    """Make a linked worktree of a repository, as git does."""
    own = repository / ".git" / "worktrees" / directory.name
    put(own / "HEAD", "ref: refs/heads/other\n")
    put(own / "commondir", "../..\n")
    put(directory / ".git", f"gitdir: {own}\n")


def test_a_worktree_within_its_repository_does_not_hear_the_same_twice(
    project: Path, agent_dir: Path
) -> None:
    """Its own copy stands for the repository's; what is above the repository still counts."""
    repository = project.parent
    put(repository / "AGENTS.md", "repository")
    put(repository.parent / "AGENTS.md", "above")
    inner, outer = repository / "trees" / "inner", repository.parent / "outer"
    for directory in (inner, outer):
        worktree(repository, directory)
        put(directory / "AGENTS.md", "worktree")
        (directory / "deep").mkdir()
    assert contents(inner / "deep", agent_dir) == ["above", "worktree"]
    assert contents(outer, agent_dir) == ["above", "worktree"]
    (inner / "AGENTS.md").unlink()
    assert contents(inner, agent_dir) == ["above", "repository"]
    put(repository / ".git" / "worktrees" / "inner" / "commondir", "../../nothing\n")
    put(inner / "AGENTS.md", "worktree")
    assert contents(inner, agent_dir) == ["above", "repository", "worktree"]


# -- prompt templates ---------------------------------------------------------------------------


def test_templates_have_a_name_a_description_and_a_body(project: Path, agent_dir: Path) -> None:
    """The name is the file's; without a description the first line stands for it."""
    put(
        agent_dir / "prompts" / "review.md",
        '---\ndescription: Look at it\nargument-hint: "[focus]"\n---\n\nReview $1.\n',
    )
    put(agent_dir / "prompts" / "plain.md", f"\n\nDo {'it ' * 30}\nand more")
    put(project / ".pi" / "prompts" / "short.md", "Do it")
    found = prompt_templates(project, agent_dir)
    assert [(one.name, one.description, one.argument_hint, one.body) for one in found.values] == [
        ("short", "Do it", "", "Do it"),
        ("plain", f"Do {'it ' * 19}...", "", f"\n\nDo {'it ' * 30}\nand more"),
        ("review", "Look at it", "[focus]", "Review $1."),
    ]
    assert found.problems == ()


def test_a_projects_template_comes_before_the_persons(project: Path, agent_dir: Path) -> None:
    """Of two with one name the project's is taken, and that there are two is told."""
    put(agent_dir / "prompts" / "review.md", "person")
    put(project / ".pi" / "prompts" / "review.md", "project")
    found = prompt_templates(project, agent_dir)
    assert [one.body for one in found.values] == ["project"]
    assert found.problems == ("'review' is there twice; the first one is taken.",)


def test_what_is_no_template_is_left_out(project: Path, agent_dir: Path) -> None:
    """Other files, files in directories, and a head that cannot be read."""
    prompts = agent_dir / "prompts"
    for name in ("a.txt", "deep/b.md", ".hidden.md"):
        put(prompts / name, "text")
    (prompts / "c.md").mkdir()
    put(prompts / "bad.md", '---\ndescription: "open\n---\nbody')
    put(prompts / "large.md", "x" * (MAX_MARKDOWN_BYTES + 1))
    found = prompt_templates(project, agent_dir)
    assert found.values == ()
    assert found.problems == (
        f"{prompts}/bad.md, line 2: the quotes do not close.",
        f"{prompts}/large.md is larger than 512.0KB.",
    )


@pytest.mark.parametrize(
    "body, arguments, expanded",
    [
        ("Review $1 and $2.", "a b c", "Review a and b."),
        ("All: $@; $ARGUMENTS", "a 'b c'", "All: a b c; a b c"),
        ("${1:-none} ${2:-two}", "one", "one two"),
        ("${@:-nothing}", "", "nothing"),
        ("${@:2} ${@:2:1} ${@:0}", "a b c", "b c b a b c"),
        ("$3.", "a b", "."),
        ("$1", '"$2 $@" x', "$2 $@"),
        ("$$1 ${2} $0", "a", "$a ${2} "),
        ("$99999999999999999999", "a", ""),
        ("${1:-$2}", "'' b", "$2"),
    ],
)
def test_arguments_are_put_in_their_places(body: str, arguments: str, expanded: str) -> None:
    """The places that pi knows; what is put in is not looked through again."""
    assert expand_template(body, arguments) == expanded


@pytest.mark.parametrize(
    "text, arguments",
    [
        ("a  b\nc", ["a", "b", "c"]),
        ("'a b' \"c d\"", ["a b", "c d"]),
        ("doesn't matter", ["doesn't", "matter"]),
        ('"say \\"hi\\"" \\n', ['say "hi"', "\\n"]),
        ('"open and on', ['"open', "and", "on"]),
        ("'' \"\"", ["", ""]),
        ("'a b'c", ["a bc"]),
        ("", []),
    ],
)
def test_quotes_hold_an_argument_together(text: str, arguments: list[str]) -> None:
    """Quotes at the beginning of an argument do; others are characters."""
    assert split_arguments(text) == arguments


# -- skills -------------------------------------------------------------------------------------


def skill(directory: Path, description: str, more: str = "") -> None:
    """Write a skill."""
    put(directory / "SKILL.md", f"---\ndescription: {description}\n{more}---\n\n# Do it\n")


def test_skills_are_found_wherever_pi_finds_them(
    project: Path, agent_dir: Path, home: Path
) -> None:
    """The project's own, those of its parents up to the repository, and the person's."""
    skill(project / ".pi" / "skills" / "one", "first")
    skill(project / ".agents" / "skills" / "two", "second")
    skill(project.parent / ".agents" / "skills" / "three", "third")
    skill(project.parent.parent / ".agents" / "skills" / "above", "above the repository")
    skill(agent_dir / "skills" / "group" / "four", "fourth")
    put(agent_dir / "skills" / "five.md", "---\nname: five\ndescription: '5'\n---\nbody")
    skill(home / ".agents" / "skills" / "six", "sixth")
    found = skills(project, agent_dir)
    names = ["one", "two", "three", "five", "four", "six"]
    assert [one.name for one in found.values] == names
    assert found.values[0].body == "# Do it"
    assert found.values[0].directory == project / ".pi" / "skills" / "one"
    assert found.problems == ()


def test_a_skill_says_its_name_and_whether_a_model_may_choose_it(
    project: Path, agent_dir: Path
) -> None:
    """The name of the head comes before the directory's."""
    more = "name: other\ndisable-model-invocation: true\nmetadata:\n  a: b\nallowed-tools: [x]\n"
    skill(agent_dir / "skills" / "a", "A", more)
    skill(agent_dir / "skills" / "b", "B")
    found = skills(project, agent_dir)
    assert [(one.name, one.model_may_choose) for one in found.values] == [
        ("other", False),
        ("b", True),
    ]


def test_what_is_no_skill_is_left_out(project: Path, agent_dir: Path) -> None:
    """Notes, what is within a skill, what is ignored, and one that does not say what it is for."""
    root = agent_dir / "skills"
    skill(root / "a", "A")
    skill(root / "a" / "inner", "inner")
    skill(root / "node_modules" / "x", "x")
    skill(root / ".hidden" / "x", "x")
    skill(root / "left-out" / "x", "x")
    put(root / ".gitignore", "left-out/\n")
    put(root / "notes.md", "only notes")
    put(root / "group" / "notes.md", "---\ndescription: not in the root\n---\n")
    put(root / "empty" / "SKILL.md", "no head")
    found = skills(project, agent_dir)
    assert [one.name for one in found.values] == ["a"]
    assert found.problems == (f"{root}/empty/SKILL.md: a skill needs a description.",)


def test_a_skill_that_is_linked_twice_is_one_and_links_in_a_circle_end(
    project: Path, agent_dir: Path
) -> None:
    """What is reached by several names is read once."""
    root = agent_dir / "skills"
    skill(root / "a", "A")
    for name in ("b", "c", "d"):
        (root / name).symlink_to(root)
    (project / ".pi").mkdir()
    (project / ".pi" / "skills").symlink_to(root)
    found = skills(project, agent_dir)
    assert [one.description for one in found.values] == ["A"]
    assert found.problems == ()


# -- heads of files -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "head, value",
    [
        ("text: a b", "a b"),
        ("text: a: b # c", "a: b"),
        ("text: a#b", "a#b"),
        ('text: "a \\"b\\" \\u00e9" # c', 'a "b" é'),
        ("text: 'it''s'", "it's"),
        ("text: a\n  b\n\n  c", "a b\nc"),
        ("text:\n  a\n  b", "a b"),
        ("text: >\n  a\n  b\n\n  c\n", "a b\nc\n"),
        ("text: |\n  a\n    b\n", "a\n  b\n"),
        ("text: |-\n  a\n", "a"),
        ("text: true", True),
        ("text: False", False),
        ("text: null", None),
        ("text:", None),
        ("text: 12.5", None),
        ("text: [a, b]", None),
        ("text:\n  - a\n  - b", None),
        ("text:\n  a: b", None),
        ("# text: a", None),
    ],
)
def test_a_field_has_the_value_that_yaml_gives_it(head: str, value: FieldValue) -> None:
    """Texts in every way in which people write them; what is no text has no value."""
    file = read_front_matter(f"---\nfirst: 1st\n{head}\nlast: x\n---\nbody")
    assert file.fields.get("text") == value
    assert (file.fields["first"], file.fields["last"], file.body) == ("1st", "x", "body")


@pytest.mark.parametrize(
    "content, body",
    [
        ("no head", "no head"),
        ("---\nname: a\nno end", "---\nname: a\nno end"),
        ("\ufeff---\r\nname: a\r\n---\r\n\r\nbody\r\n", "body"),
        ("---\nonly a rule\n---\nbody", "body"),
        ("", ""),
    ],
)
def test_a_file_without_a_head_is_all_body(content: str, body: str) -> None:
    """A head begins with the file, and has fields."""
    assert read_front_matter(content).body == body


@pytest.mark.parametrize("head", ["a: b\nno field", "a: b\na: c", 'a: "b', "a: 'b' c", "a: b\n}"])
def test_a_head_that_cannot_be_read_is_refused(head: str) -> None:
    """Nothing is guessed: who wrote it is told in which line."""
    with pytest.raises(BadFrontMatter, match=r"^line \d: "):
        read_front_matter(f"---\n{head}\n---\nbody")


@given(
    strategies.text()
    | strategies.lists(strategies.sampled_from("-:'\"|>#[]\n ab\r\t")).map("".join)
)
def test_any_file_is_read_or_left_out(head: str) -> None:
    """Whatever a file holds, discovery goes on."""
    content = f"---\n{head}\n---\n".encode("utf-8", "surrogatepass")
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        for name in ("prompts/a.md", "skills/a/SKILL.md", "AGENTS.md"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
        cwd = root / "project"
        for template in prompt_templates(cwd, root).values:
            template.description.encode()
        for one in skills(cwd, root).values:
            one.name.encode()
        for file in context_files(cwd, root).values:
            file.content.encode()
