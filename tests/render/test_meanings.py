"""Each meaning has a form without colour."""

import pytest

from rdmalab.render.meanings import APPEARANCES, Tone
from rdmalab.views.columns import Meaning


def test_every_meaning_has_a_look() -> None:
    assert set(APPEARANCES) == set(Meaning)


@pytest.mark.parametrize("meaning", [m for m in Meaning if APPEARANCES[m].tone is not Tone.PLAIN])
def test_what_has_a_colour_has_a_word_or_stands_aside(meaning: Meaning) -> None:
    appearance = APPEARANCES[meaning]
    assert appearance.word or meaning in (Meaning.DIM, Meaning.EVENT)
    assert len(appearance.sign) <= 1


def test_good_and_bad_never_share_a_sign() -> None:
    signs = {
        tone: {style.sign for style in APPEARANCES.values() if style.tone is tone and style.sign}
        for tone in (Tone.GOOD, Tone.BAD, Tone.ODD, Tone.BUSY)
    }
    for one, mine in signs.items():
        for other, theirs in signs.items():
            assert one is other or not mine & theirs
