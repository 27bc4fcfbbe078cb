"""What the application is about."""

from rdmalab.shell.fragments import Line, text_of
from rdmalab.tui.scene import CARD, FIRST, Scene
from tests.tui.playing import ROOT


async def pause() -> None:
    pass


def test_the_card_has_five_lines_and_its_commands_are_understood() -> None:
    assert len(CARD) == 5
    assert max(len(text_of(line)) for line in CARD) <= 78
    scene = Scene()
    scene.begin()
    for line in CARD:
        for style, text in line:
            if style == "class:pygments.keyword" and "FILE" not in text:
                assert scene.lab.do(text)[-1].error is None, text


def test_it_begins_with_one_finished_send() -> None:
    scene = Scene()
    scene.begin()
    assert scene.lab.look("A.cq0.next.status == SUCCESS")
    assert scene.lab.look("B.cq0.next.byte_len") == 64
    assert FIRST[0] == "use rc_pair"


async def test_nothing_typed_walks_on() -> None:
    scene, said = Scene(), list[Line]()
    path = ROOT / "scenarios/rc/send.rdmalab.yaml"
    assert scene.way_on == "step"
    assert await scene.evaluate(f'load "{path}"', said.append, pause)
    assert scene.is_walking
    assert scene.way_on == "next"
    assert scene.walk is not None
    before = scene.walk.position
    await scene.evaluate("", said.append, pause)
    assert scene.walk.position > before
    assert not await scene.evaluate("quit", said.append, pause)
