"""Widgets that fit their size without a Resize, and screens that close only once."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from textual.await_complete import AwaitComplete
from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget

if TYPE_CHECKING:
    from textual import events

_NONE = (Size(0, 0), Size(0, 0))
_Result = TypeVar("_Result")


class Fitted(Widget):
    """A widget whose `fit` is called after each layout that has changed its size.

    A Resize alone is not enough: Textual 8.2.8 loses some. It sends one where a layout differs from
    the places that it has computed before. It computes all places, too, when it draws a frame for
    which a widget without a place has asked (a hidden one, a scrollbar of no width). With a busy
    screen such a frame comes between a change of style and its layout, which then finds no
    difference. Seen on a loaded machine: the prompt was below the last visible row.
    """

    _fitted_to = _NONE

    def fit(self) -> None:
        """Fit what is shown to the size."""
        raise NotImplementedError

    @property
    def _sizes(self) -> tuple[Size, Size]:
        return self.outer_size, self.container_size

    def _fit(self) -> None:
        if self._sizes != self._fitted_to:
            self._fitted_to = self._sizes
            self.fit()

    def _after_layout(self) -> None:
        if self._sizes != self._fitted_to:
            self.call_next(self._fit)  # in our own turn, not in that of the screen

    def on_mount(self) -> None:
        """Look at the size after each layout of the screen."""
        self.screen.screen_layout_refresh_signal.subscribe(
            self, lambda _screen: self._after_layout(), immediate=True
        )

    def on_resize(self, _event: events.Resize) -> None:
        """Fit what is shown; the first layout of an application is not announced otherwise."""
        self._fit()


def place(screen: Screen[None]) -> None:
    """Set the classes of its size: Textual does after a first layout, one for another size."""
    app = screen.app
    points = (app.HORIZONTAL_BREAKPOINTS or [], app.VERTICAL_BREAKPOINTS or [])
    for most, limits in zip(app.size, points, strict=True):
        screen.add_class(*[name for least, name in limits if most >= least][-1:])


class Cover(Screen[_Result]):
    """A screen over the main one. It closes once, also where two keys that close it come at once.

    Textual would pop the uppermost screen whichever is dismissed: the second key would close the
    main screen, and a key that was typed before another page opened would close that one. It is
    the last base of a class, because Textual takes styles from the first.
    """

    def dismiss(self, result: _Result | None = None) -> AwaitComplete:
        """Close the screen, unless it is closed, and all that have opened over it."""
        stack = self.app.screen_stack
        if self not in stack:
            return AwaitComplete()
        for above in reversed(stack[stack.index(self) + 1 :]):
            above.dismiss()
        return super().dismiss(result)
