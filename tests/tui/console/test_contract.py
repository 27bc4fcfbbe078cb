"""What live.py and paint.py read of prompt_toolkit. All of it is public, none of it is promised."""

from prompt_toolkit.document import Document
from prompt_toolkit.layout.screen import Screen
from prompt_toolkit.mouse_events import MouseButton, MouseEvent, MouseEventType

from tests.tui.console.bench import bench


async def test_what_we_read_of_prompt_toolkit_is_still_there() -> None:
    """When this fails, prompt_toolkit has changed what live.py and paint.py stand on."""
    async with bench() as it:
        it.type("st")
        await it.prompt("st")
        app = it.console.live.session.app
        renderer = app.renderer
        screen = renderer.last_rendered_screen
        assert isinstance(screen, Screen)
        assert "".join(screen.data_buffer[0][x].char for x in range(5)) == "A> st"
        assert isinstance(screen.data_buffer[0][0].style, str)
        assert screen.data_buffer[0][0].width == 1
        assert screen.height >= 1
        assert screen.cursor_positions[app.layout.current_window].x == 5
        assert renderer.height_is_known
        assert renderer.style.get_attrs_for_style_str("class:prompt").bold
        click = MouseEvent(
            screen.cursor_positions[app.layout.current_window],
            MouseEventType.MOUSE_UP,
            MouseButton.LEFT,
            frozenset(),
        )
        assert app.context is not None
        handler = renderer.mouse_handlers.mouse_handlers[0][3]
        assert app.context.copy().run(handler, click) is not NotImplemented
        assert it.console.live.session.default_buffer.document == Document("st", 2)
        # Public names that tune a prompt for life in a pane.
        assert {"max_render_postpone_time", "terminal_size_polling_interval"} <= vars(app).keys()
        assert "reserve_space_for_menu" in vars(it.console.live.session)
