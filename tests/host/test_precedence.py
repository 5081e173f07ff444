"""Work in the background waits while somebody is answered."""

from __future__ import annotations

import threading

from enso.host.precedence import Precedence


def test_work_goes_on_while_nobody_goes_first() -> None:
    """It costs nothing to give way to nobody."""
    precedence = Precedence()
    with precedence.first():
        pass
    precedence.give_way()


def test_what_nobody_waits_for_begins_once_it_is_quiet() -> None:
    """Not while somebody goes first; at once when it is asked for; after the longest wait else."""
    precedence = Precedence(longest_seconds=60, quiet_seconds=0.001)
    begins, asked = threading.Event(), threading.Event()

    def work() -> None:
        precedence.wait_for_quiet()
        begins.set()

    with precedence.first():
        worker = threading.Thread(target=work)
        worker.start()
        assert not begins.wait(0.05)
        asked.set()
        precedence.wait_for_quiet(asked)
        Precedence(longest_seconds=0, quiet_seconds=60).wait_for_quiet()
    assert begins.wait(30)
    worker.join()


def test_work_waits_until_the_last_who_goes_first_is_done() -> None:
    """Two answers at once: the first that ends does not let it go on."""
    precedence, order = Precedence(longest_seconds=60), list[str]()
    waits = threading.Event()

    def work() -> None:
        waits.set()
        precedence.give_way()
        order.append("work")

    with precedence.first():
        with precedence.first():
            worker = threading.Thread(target=work)
            worker.start()
            waits.wait()
        order.append("answer")
    worker.join()
    assert order == ["answer", "work"]
