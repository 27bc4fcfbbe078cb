"""The pytest plugin: scenarios and labs as tests, the fixture, and what it costs other projects."""

from importlib.metadata import entry_points
from pathlib import Path

import pytest

# Before the runs inside this process: each of them drops the modules that it has imported.
from rdmalab.classroom import checking, lab_file, public
from rdmalab.doctor import consultation
from rdmalab.pytest_plugin import FILES
from rdmalab.scenario import mistakes
from rdmalab.scenario.files import LAB_SUFFIX, SUFFIX
from rdmalab.shell import show_why

assert checking
assert consultation
assert mistakes
assert show_why
pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[1]
GOOD = """\
# a comment
rdmalab: 1
title: good
steps:
  - do: alloc_pd A.pd0
    expect: [now == 0]
"""
WAITING = """\
rdmalab: 1
title: waiting
setup:
  - use rc_pair
steps:
  - post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED
  - run: 1ms
  - id: arrives
    do: query_qp A.qp0
    expect:
      - A.cq0.total(status=SUCCESS) == 1
"""
BROKEN = GOOD.replace("alloc_pd", "aloc_pd").replace("[now == 0]", "[nwo == 0]")
LATE = GOOD.replace("alloc_pd A.pd0", "query_qp A.qp7")
LAB = ROOT / "instructor" / "labs" / "sq-full.lab.yaml"


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs inside a run: no plugins of other packages that warn, and the same rdmalab."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)


def scenario(pytester: pytest.Pytester, name: str, text: str) -> Path:
    path = pytester.path / f"{name}.rdmalab.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:asyncio", *arguments)


def test_it_is_registered() -> None:
    (plugin,) = entry_points(group="pytest11", name="rdmalab")
    assert plugin.value == "rdmalab.pytest_plugin", "an older environment: pip install -e . again"


def test_scenarios_are_tests(pytester: pytest.Pytester) -> None:
    scenario(pytester, "deep/good", GOOD)
    scenario(pytester, "waiting", WAITING)
    (pytester.path / "other.yaml").write_text("rdmalab: 1\n", "utf-8")
    result = run(pytester, "-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "deep/good.rdmalab.yaml::scenario PASSED*",
            "waiting.rdmalab.yaml::scenario FAILED*",
            "FAIL waiting.rdmalab.yaml:11  step arrives  expect line 1",
            "  expected  A.cq0.total(status=SUCCESS) == 1",
            "  actual    A.cq0.total(status=SUCCESS) = 0",
            "  last on the wire:",
            "    *A->B SEND_ONLY*",
            "  why:",
            "    *A.qp0.wr?7?*",
            "    *rnr-infinite*",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (BROKEN, ["*:5:9: no verb *", "*:6:14: *nwo*"]),
        (LATE, ["*:5:18: nothing is called A.qp7*"]),
        ("", ["x.rdmalab.yaml:1:1: the file is empty*"]),
        ("rdmalab: 1\nsteps: [", ["x.rdmalab.yaml:*"]),
        ("\x80", ["x.rdmalab.yaml:*"]),
    ],
)
def test_all_mistakes_of_a_file_are_in_the_failure(
    pytester: pytest.Pytester, text: str, lines: list[str]
) -> None:
    scenario(pytester, "x", text)
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(lines)
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_file_that_vanishes_or_is_not_utf_8_fails(pytester: pytest.Pytester) -> None:
    scenario(pytester, "x", GOOD).write_bytes(b"rdmalab: 1\ntitle: \xff\n")
    pytester.makeconftest(
        """
        import pathlib
        def pytest_collection_finish(session):
            pathlib.Path("gone.rdmalab.yaml").unlink()
        """
    )
    scenario(pytester, "gone", GOOD)
    result = run(pytester)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines_random(["*line 2 is not UTF-8*", "*cannot be read: No such file*"])


def test_files_by_ini_and_by_name(pytester: pytest.Pytester) -> None:
    scenario(pytester, "good", GOOD)
    (pytester.path / "mine.yaml").write_text(GOOD, "utf-8")
    (pytester.path / "other.yaml").write_text("a: 1\n", "utf-8")
    run(pytester, "mine.yaml", "good.rdmalab.yaml").assert_outcomes(passed=2)
    assert run(pytester, "other.yaml").ret == pytest.ExitCode.USAGE_ERROR
    pytester.makeini("[pytest]\nrdmalab_files = m*.yaml checks/*.yml\n")
    (pytester.path / "checks").mkdir()
    (pytester.path / "checks" / "a.yml").write_text(GOOD, "utf-8")
    run(pytester).assert_outcomes(passed=2)


def test_a_test_can_be_selected_and_has_a_line(pytester: pytest.Pytester) -> None:
    scenario(pytester, "good", GOOD)
    pytester.makeconftest(
        "def pytest_collection_modifyitems(items):\n"
        "    print('AT', [(i.location[0], i.location[1], i.location[2]) for i in items])\n"
    )
    result = run(pytester, "-s", "good.rdmalab.yaml::scenario")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*AT [[]('good.rdmalab.yaml', 2, 'good.rdmalab.yaml: scenario')*"])


def test_paths_are_relative_to_the_root_directory(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also from another folder, and a file that is included is found."""
    pytester.makeini("[pytest]\n")
    text = WAITING.replace("- use rc_pair", "- include: pair.yaml")
    scenario(pytester, "deep/waiting", text)
    part = "rdmalab: 1\nsetup:\n  - use rc_pair\n"
    (pytester.path / "deep" / "pair.yaml").write_text(part, "utf-8")
    monkeypatch.chdir(pytester.path / "deep")
    result = run(pytester, "--rootdir", str(pytester.path), "waiting.rdmalab.yaml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["FAIL deep/waiting.rdmalab.yaml:11 *"])


def test_each_solution_of_a_lab_is_a_test(pytester: pytest.Pytester) -> None:
    text = LAB.read_text("utf-8")
    (pytester.path / "a.lab.yaml").write_text(text, "utf-8")
    result = run(pytester, "--collect-only", "-q")
    accepted = [line for line in result.outlines if line.startswith("a.lab.yaml::accept::")]
    rejected = [line for line in result.outlines if line.startswith("a.lab.yaml::reject::")]
    assert len(accepted) >= 3
    assert len(rejected) >= 3
    run(pytester, accepted[0], rejected[0]).assert_outcomes(passed=2)


def test_a_solution_with_another_grade_fails(pytester: pytest.Pytester) -> None:
    """The first that must be accepted is declared to be one that must not."""
    text = LAB.read_text("utf-8")
    before, reject, after = text.partition("  reject:\n")
    assert reject
    accepted = before[before.index("  accept:\n") + len("  accept:\n") :].rstrip()
    first = accepted.split("\n    - ")[0].rstrip()
    moved = first.replace("name: ", "name: moved-", 1)
    (pytester.path / "a.lab.yaml").write_text(f"{before}{reject}{moved}\n{after}", "utf-8")
    result = run(pytester, "-k", "moved")
    result.assert_outcomes(failed=1, deselected=len(_names(pytester)) - 1)
    line = f"{before}{reject}".count("\n") + 1
    result.stdout.fnmatch_lines([f"FAIL a.lab.yaml:{line} *it must not pass, and gets all points*"])


def _names(pytester: pytest.Pytester) -> list[str]:
    collected = run(pytester, "--collect-only", "-q").outlines
    return [line for line in collected if "::" in line]


@pytest.mark.parametrize(("text", "outcome"), [("kind: lab\n", "failed"), (None, "passed")])
def test_a_lab_without_solutions(pytester: pytest.Pytester, text: str | None, outcome: str) -> None:
    """A file with mistakes fails, the file for students passes."""
    shown = text or public.published(lab_file.load(str(LAB), "1"))
    (pytester.path / "a.lab.yaml").write_text(shown, "utf-8")
    run(pytester).assert_outcomes(**{outcome: 1})


def test_the_fixture_is_a_lab(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        from rdmalab.spec.states import QPState

        def test_default(rdmalab):
            rdmalab.do("use rc_pair")
            assert rdmalab.look("A.qp0.state") is QPState.RTS
            assert rdmalab.profiles["A"].name == "strict"

        @pytest.mark.rdmalab(profile="rxe", seed=7)
        def test_marked(rdmalab):
            assert (rdmalab.profiles["B"].name, rdmalab.seed) == ("rxe", 7)
        """
    )
    run(pytester, "--strict-markers").assert_outcomes(passed=2)


QUICK = ("-p", "no:hypothesispytest", "-p", "no:asyncio", "-p", "no:cacheprovider")


_MODULES = """
import sys
def pytest_sessionfinish(session):
    print("LOADED", sorted(m for m in sys.modules if m.partition(".")[0] == "rdmalab"))
"""


def test_the_usual_patterns_have_the_suffixes_of_scenarios_and_labs(
    pytestconfig: pytest.Config,
) -> None:
    assert pytestconfig.getini(FILES) == [f"*{SUFFIX}", f"*{LAB_SUFFIX}"]


def test_a_fixture_opens_labs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_see(rdmalab_lab):
            lab = rdmalab_lab("labs/sq-full", student="s1")
            lab.do("post_send A.qp0 opcode=SEND sg=A.mr0[0:64]")
            lab.answer("see", "ENOMEM")
            assert [each.id for each in lab.grade().results if each.passed] == ["see"]
            assert rdmalab_lab("labs/access").work.student == "anonymous"
        """
    )
    run(pytester).assert_outcomes(passed=1)


def test_other_projects_pay_nothing(pytester: pytest.Pytester) -> None:
    """Without a file or the fixture only the plugin is loaded; it can be switched off."""
    pytester.makeconftest(_MODULES)
    pytester.makepyfile("def test_nothing():\n    pass\n")
    (pytester.path / "data.yaml").write_text("rdmalab: 1\n", "utf-8")
    result = pytester.runpytest_subprocess("-s", *QUICK)
    result.assert_outcomes(passed=1)
    plugin = ["rdmalab", "rdmalab.pytest_plugin", "rdmalab.version"]
    assert f"LOADED {plugin}" in result.stdout.str()
    scenario(pytester, "good", GOOD)
    result = pytester.runpytest_subprocess("-s", "-p", "no:rdmalab", *QUICK)
    result.assert_outcomes(passed=1)
    assert "LOADED []" in result.stdout.str()


def test_under_xdist_the_results_are_the_same(pytester: pytest.Pytester) -> None:
    scenario(pytester, "waiting", WAITING)
    for number in range(3):
        scenario(pytester, f"good{number}", GOOD)
    pytester.makepyfile("def test_fixture(rdmalab):\n    rdmalab.do('use rc_pair')\n")
    result = pytester.runpytest_subprocess("-n", "2", *QUICK)
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(
        [
            "FAIL waiting.rdmalab.yaml:11  step arrives  expect line 1",
            "  expected  A.cq0.total(status=SUCCESS) == 1",
            "  actual    A.cq0.total(status=SUCCESS) = 0",
            "  why:",
        ]
    )
