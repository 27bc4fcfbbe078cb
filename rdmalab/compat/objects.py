"""Names of the objects that programs make, and the objects by name: shared by the skins."""

from collections.abc import Callable
from typing import Any

from rdmalab.command import New, Noun, Ref
from rdmalab.session.session import Session


class Objects:
    """The objects of one session, as its programs make and find them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._numbers: dict[tuple[str, Noun], int] = {}  # the next that was not given yet

    def subject(self, word: str) -> str:
        """The name of the first parameter of a command: what it makes, changes or ends."""
        return self.session.vocabulary[word].parameters[0].name

    def make(
        self, perform: Callable[..., object], word: str, noun: Noun, node: str, **arguments: object
    ) -> Ref:
        """Perform a command that creates an object, under the first free name; returns the name.

        A name of an object that was destroyed is not given again. perform: carries a command out;
        what it raises leaves the name free.
        """
        number = self._numbers.get((node, noun), 0)
        while self.session.names.find(f"{node}.{noun}{number}") is not None:
            number += 1
        name = f"{noun}{number}"
        perform(word, **{self.subject(word): New(noun, node, name)}, **arguments)
        self._numbers[node, noun] = number + 1
        return Ref(node, name)

    def find(self, ref: Ref) -> Any:
        """The object of a name; KeyError if there is none."""
        thing = self.session.names.thing_of[f"{ref.node}.{ref.name}" if ref.name else ref.node]
        return self.session.world.find(thing, object)
