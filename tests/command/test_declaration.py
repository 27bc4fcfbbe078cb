"""How a typed function becomes a command: parameters, facts, names."""

from typing import Annotated

import pytest

from rdmalab.command import SCRIPTABLE, SPOKEN, Facts, Lines, Noun, Thing, aliases, command


def test_a_function_is_its_grammar() -> None:
    @command
    def next_(
        world: int, qp: Annotated[Thing, Noun.QP], *, within: Annotated[int, SPOKEN] = 3
    ) -> None:
        """Say what comes.

        And more.
        """

    assert (next_.name, next_.changes_world, next_.room) == ("next", True, "test_declaration")
    assert next_.summary == "Say what comes."
    assert next_.documentation.endswith("\nAnd more.")
    qp, within = next_.parameters
    assert (qp.name, qp.positional, qp.required, qp.spoken) == ("qp", True, True, False)
    assert (within.positional, within.default, within.spoken) == (False, 3, True)


def test_a_parameter_whose_name_python_keeps_for_itself() -> None:
    @command
    def move(world: int, *, from_: int = 0) -> None: ...

    assert [parameter.name for parameter in move.parameters] == ["from"]


def test_a_command_that_looks_changes_no_world() -> None:
    @command
    def style(session: int) -> None: ...

    assert not style.changes_world
    assert style.summary == ""


def test_a_command_that_declares_nothing_is_for_the_prompt_only() -> None:
    @command
    def dump(world: int, file: str) -> None: ...

    assert (dump.facts.in_scenarios, dump.in_programs) == (False, False)


def test_programs_take_what_changes_the_world_and_starts_no_program() -> None:
    @command(SCRIPTABLE)
    def change(world: int) -> None: ...

    @command(SCRIPTABLE)
    def style(session: int) -> None: ...

    @command(SCRIPTABLE)
    def start(world: int, *, lines: Lines) -> None: ...

    @command(Facts(in_scenarios=True, in_programs=False))
    def end(world: int) -> None: ...

    assert [each.in_programs for each in (change, style, start, end)] == [True, False, False, False]


def test_what_touches_files_cannot_stand_in_a_scenario() -> None:
    with pytest.raises(TypeError, match="cannot stand in a scenario"):
        Facts(touches_files=True, in_scenarios=True)


def test_short_spellings_stand_at_their_command() -> None:
    @command(Facts(short=(("s", ""), ("n", "packet"))))
    def step(session: int) -> None: ...

    assert aliases({"step": step}) == {"s": "step", "n": "step packet"}
