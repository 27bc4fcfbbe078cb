"""The book in Chromium, opened from file://: search, print, contrast, hostile texts, no request."""

from collections.abc import Iterator

import pytest

from tests.book.conftest import Made
from tests.chromium import CHROMIUM, Chromium

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed"),
]

# The contrast of each visible text with its background; those that are too weak.
WEAK = """
(() => {
  const numbers = (c) => {
    const n = c.match(/-?[0-9.]+(?:e-?[0-9]+)?/g).map(Number);
    const s = c.startsWith("color(") ? 255 : 1;
    return [n[0] * s, n[1] * s, n[2] * s, n.length > 3 ? n[3] : 1];
  };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = (c) => {
    const l = c.slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2];
  };
  const paper = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) {
      layers.push(numbers(getComputedStyle(at).backgroundColor));
    }
    return layers.reduceRight((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  const weak = [];
  let seen = 0;
  for (const part of document.querySelectorAll("details")) part.open = true;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement;
    const said = texts.currentNode.data.trim();
    if (!said || e.tagName === "title" || !e.getClientRects().length) continue;
    const style = getComputedStyle(e);
    if (style.opacity === "0") continue;
    const back = paper(e);
    const ink = over(numbers(e.ownerSVGElement ? style.fill : style.color), back);
    const [high, low] = [light(ink), light(back)].sort((a, b) => b - a);
    seen += 1;
    if ((high + 0.05) / (low + 0.05) < 4.5) {
      weak.push(`${e.tagName}.${e.getAttribute("class")} ${said}`);
    }
  }
  return {seen, weak: weak.slice(0, 20)};
})()
"""


@pytest.fixture(scope="module")
def browser(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    opened = Chromium(tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


def opened(browser: Chromium, made: Made, page: str) -> Chromium:
    name, mark, query = page.partition("?")
    browser.open((made.folder / name).as_uri() + mark + query)
    return browser


@pytest.fixture(scope="module")
def hostile(made: Made) -> str:
    return next(name for name in made.book.files if "img-src" in name)


def test_search_finds_words_titles_and_statements_from_the_keyboard(
    browser: Chromium, made: Made
) -> None:
    opened(browser, made, "lessons/err/rnr-retry-exceeded.html")
    assert browser.ask("window.rdmalabIndex === undefined")  # read when it is needed
    browser.press("/")
    browser.type("IBV_WC_RNR_RETRY_EXC_ERR")
    browser.wait("document.querySelectorAll('#hits a').length > 0")
    assert browser.ask("document.querySelector('#hits a').textContent").startswith(
        "IBV_WC_RNR_RETRY_EXC_ERR"
    )
    browser.press("ArrowDown")
    browser.press("Enter")
    browser.wait("document.querySelector('#IBV_WC_RNR_RETRY_EXC_ERR:target h2') !== null")
    for words, page in (("empty receive queue", "rnr-retry-exceeded"), ("S116", "statements")):
        opened(browser, made, f"index.html?q={words}")
        browser.wait("document.querySelectorAll('#hits a').length > 0")
        assert page in browser.ask("document.querySelector('#hits a').href")
    browser.ask("document.getElementById('q').value = 'zzz'; q.dispatchEvent(new Event('input'))")
    assert browser.ask("document.getElementById('count').textContent") == "0 found"


def test_hostile_texts_are_shown_and_do_nothing(
    browser: Chromium, made: Made, hostile: str
) -> None:
    shown = {}
    for page in (hostile, "index.html?q=script", "sheets/s4711.html"):
        opened(browser, made, page)
        browser.wait("document.readyState === 'complete'")
        assert browser.ask("window.pwned === undefined"), page
        assert browser.ask("document.querySelectorAll('img, iframe, [onload]').length") == 0
        shown[page] = browser.ask("document.body.innerText")
    assert "<script>window.pwned=1</script>" in shown[hostile]
    assert '<img src=x onerror="window.pwned=2">' in shown[hostile]
    browser.wait("true")
    assert not browser.dialogs
    assert not browser.errors
    sheet = next(n for n in made.book.files if n.startswith("sheets/") and "s4711" not in n)
    opened(browser, made, sheet)
    assert "<script>pwned=1</script>" in browser.ask("document.querySelector('h1').textContent")
    assert browser.ask("window.pwned === undefined")


def test_no_request_leaves_the_machine_even_if_a_text_asked_for_one(
    browser: Chromium, made: Made, hostile: str
) -> None:
    opened(browser, made, hostile)
    base = made.folder.as_uri()
    assert all(each.startswith((base, "about:")) for each in browser.requests), browser.requests
    assert {f"{base}/book.css", f"{base}/book.js"} <= set(browser.requests)
    before = len(browser.requests)
    browser.ask("document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/x'}))")
    browser.ask("fetch('http://127.0.0.1:9/x').catch(() => 0); 1")
    browser.wait("true")
    sent = [each for each in browser.requests[before:] if each.startswith("http")]
    assert not sent or any("Content Security Policy" in each for each in browser.errors)
    browser.errors.clear()


@pytest.mark.parametrize("is_dark", [False, True], ids=["day", "night"])
def test_every_text_has_contrast(browser: Chromium, made: Made, *, is_dark: bool) -> None:
    browser.dark(is_dark=is_dark)
    for page in (
        "index.html", "lessons/why/loc-len.html", "lessons/why/atomic-mixed.html",
        "lessons/loss/lost-packet.html", "labs/sq-full.html", "guide/completions.html",
        "guide/queue-pairs-the-moves-of-modify_qp.html", "statements.html",
    ):  # fmt: skip
        opened(browser, made, page)
        found = browser.ask(WEAK)
        assert found["seen"] > 40, page
        assert not found["weak"], page
    browser.dark(is_dark=False)


def test_a_phone_scrolls_drawings_and_not_the_page(browser: Chromium, made: Made) -> None:
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.call("Emulation.setDeviceMetricsOverride", **size)
    for page in ("index.html", "lessons/xrc/by-functions.html", "labs/sq-full.html",
                 "guide/fields-of-verbs.html", "statements.html"):  # fmt: skip
        opened(browser, made, page)
        assert browser.ask("document.documentElement.scrollWidth") <= 390, page
    browser.call("Emulation.clearDeviceMetricsOverride")


def test_a_page_prints_with_what_is_folded_away(browser: Chromium, made: Made) -> None:
    opened(browser, made, "lessons/err/rnr-retry-exceeded.html")
    assert browser.pdf().startswith(b"%PDF-")
    assert browser.ask("document.querySelector('.world').open")
    assert not browser.ask("document.querySelector('.source').open")
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.ask("getComputedStyle(document.querySelector('header')).display") == "none"
    assert browser.ask("getComputedStyle(document.body.parentElement).color") == "rgb(31, 35, 40)"
    browser.call("Emulation.setEmulatedMedia", media="")
