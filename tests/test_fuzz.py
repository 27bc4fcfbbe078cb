"""Whatever is typed at the shell: an answer, a refusal or a mistake, and never a traceback."""

from pathlib import Path

import pytest

from rdmalab import cli
from tests.each import chance_of, drawn_numbers
from tests.hostile.account import printed
from tests.hostile.typed import mutants


@pytest.mark.slow
def test_the_command_line_never_says_that_it_has_a_bug(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RDMALAB_DEBUG", raising=False)
    codes = set()
    for number in drawn_numbers("command line", 100, 2_000):
        (line,) = mutants(chance_of("command line", number), 1)
        pair = ["-c", "use rc_pair"] if number % 3 else []
        form = ["--json"] if number % 5 == 0 else ["--plain"] if number % 5 == 1 else []
        code = cli.main(["repl", *form, *pair, "-c", line])
        out, err = capsys.readouterr()
        assert code in (0, 1, 2), (line, err)
        assert printed(out + err) is None, line
        codes.add(int(code))
    assert codes >= {0, 2}  # whether a call is refused is a matter of the numbers
    assert cli.main(["repl", "-c", "use rc_pair", "-c", "modify_qp A.qp0 state=INIT"]) == 1
