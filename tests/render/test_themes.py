"""Text can be read in every theme: at least 4.5:1 on every ground."""

import pytest

from rdmalab.render.meanings import LEAST_CONTRAST, THEMES, Tone, contrast

GROUNDED = [(name, ground) for name, theme in THEMES.items() for ground in theme.grounds]


@pytest.mark.parametrize(("name", "ground"), GROUNDED)
@pytest.mark.parametrize("tone", Tone)
def test_every_tone_is_readable_on_every_ground(name: str, ground: str, tone: Tone) -> None:
    assert contrast(THEMES[name].tones[tone], ground) >= LEAST_CONTRAST


@pytest.mark.parametrize("name", THEMES)
@pytest.mark.parametrize("tone", [tone for tone in Tone if tone is not Tone.PLAIN])
def test_text_on_a_band_of_a_tone_is_readable(name: str, tone: Tone) -> None:
    assert contrast(THEMES[name].on, THEMES[name].tones[tone]) >= LEAST_CONTRAST


def test_the_measure_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#ffffff", "#767676") == pytest.approx(4.54, abs=0.01)
