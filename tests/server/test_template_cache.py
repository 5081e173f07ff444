"""Compiled templates on disk: read at the next start, and gone without harm."""

from __future__ import annotations

import shutil
from pathlib import Path

from jinja2 import DictLoader, Environment

from enso.server.template_cache import TemplateCache


class Counting(Environment):
    """An environment that counts how many templates it compiles."""

    compiled = 0

    def _generate(self, *given: object, **named: object) -> str:
        self.compiled += 1
        return super()._generate(*given, **named)  # type: ignore[arg-type]


def environment(cache: Path, text: str = "Hello {{ name }}") -> Counting:
    """An environment of one template, as a start makes it."""
    return Counting(loader=DictLoader({"one": text}), bytecode_cache=TemplateCache(cache))


def test_the_next_start_compiles_nothing(tmp_path: Path) -> None:
    """A second environment reads what the first compiled, and renders the same."""
    first, second = environment(tmp_path / "c"), environment(tmp_path / "c")
    assert first.get_template("one").render(name="A") == "Hello A"
    assert second.get_template("one").render(name="B") == "Hello B"
    assert (first.compiled, second.compiled) == (1, 0)


def test_a_changed_template_is_compiled_anew(tmp_path: Path) -> None:
    """What is kept belongs to the very text that was compiled."""
    environment(tmp_path).get_template("one")
    changed = environment(tmp_path, "Bye {{ name }}")
    assert changed.get_template("one").render(name="A") == "Bye A"
    assert changed.compiled == 1


def test_a_cache_that_is_gone_or_broken_is_made_again(tmp_path: Path) -> None:
    """Deleting the directory, or half a file in it, costs a compilation and nothing else."""
    cache = tmp_path / "c"
    environment(cache).get_template("one")
    shutil.rmtree(cache)
    assert environment(cache).get_template("one").render(name="A") == "Hello A"
    [kept] = cache.iterdir()
    kept.write_bytes(kept.read_bytes()[:10])
    broken = environment(cache)
    assert broken.get_template("one").render(name="A") == "Hello A"
    assert broken.compiled == 1


def test_a_cache_that_cannot_be_made_is_done_without(tmp_path: Path) -> None:
    """A file where the directory should be keeps nothing, and the page is drawn."""
    (tmp_path / "c").write_text("no directory")
    assert environment(tmp_path / "c").get_template("one").render(name="A") == "Hello A"
