"""What `strict` does in the experiments of wc_outcomes.py where `rxe` does something else.

A program of its own, because it plays with the clocks of Python: cells of each experiment as JSON
on stdin (null: to be found), paragraphs and complaints as JSON on stdout.

Left out is what means nothing or would stand in every paragraph: opcode, flags and byte_len of
failed requests, byte_len of sends, vendor_err, the GRH flag of receives.
"""

import io
import json
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rdmalab.command import Refused
from rdmalab.compat import script
from rdmalab.compat.process import Process
from rdmalab.spec.profiles import RXE, STRICT, Profile
from tests.oracle import outcomes
from tests.oracle.beside import Beside, rendered, responsible, rxe_but

_COUNTED = ("RDMA_READ", "COMP_SWAP", "FETCH_ADD", "RECV", "RECV_RDMA_WITH_IMM")

Answer = dict[str, str]
Refusals = list[tuple[str, int]]

_refused: Refusals = []


def _listen() -> None:
    """Note every refusal of the lab."""
    plain = Process.call

    def call(self: Process, word: str, **arguments: Any) -> Any:
        try:
            return plain(self, word, **arguments)
        except Refused as refusal:
            _refused.append((refusal.rule, refusal.errno))
            raise

    setattr(Process, "call", call)  # noqa: B010  (it is typed as what it was)


# --------------------------------------------------------------------------- one experiment
class Stage:
    """A place where the probe can be played again and again."""

    def __init__(self, place: Path) -> None:
        self.place = place
        for file in (outcomes.LIB, outcomes.PROBE):
            shutil.copy(file, place)
        os.environ["OUT"] = str(place / "out")

    def play(self, profile: Profile, *names: str) -> dict[str, outcomes.Outcome]:
        shutil.rmtree(self.place / "out", ignore_errors=True)
        with redirect_stdout(io.StringIO()):
            ended = script.run(str(self.place / outcomes.PROBE.name), names, profile)
        assert ended == 0
        return outcomes.outcomes(self.place / "out")

    def answer(self, name: str, profile: Profile) -> Answer:
        """What one experiment gives, as far as it is compared."""
        return answer_of(self.play(profile, name)[name])

    def both(self, name: str) -> Beside:
        there, refused_there = self._heard(name, RXE)
        here, refused_here = self._heard(name, STRICT)
        rules = [rule for rule, number in refused_here if (rule, number) not in refused_there]
        return Beside(there, here, list(dict.fromkeys(rules)))

    def _heard(self, name: str, profile: Profile) -> tuple[Answer, Refusals]:
        _refused.clear()
        return self.answer(name, profile), list(_refused)


def answer_of(outcome: outcomes.Outcome) -> Answer:
    """Each single answer, with where it stands."""
    result = outcomes.plain(outcome.result)
    wcs = {queue: [completion(wc) for wc in rows] for queue, rows in result["wc"].items()}
    answer = {f"wc {queue}": ", ".join(rows) or "nothing" for queue, rows in wcs.items()}
    rest = {key: value for key, value in result.items() if key not in ("wc", "doc")}
    answer |= {path: text for path, text in outcomes.leaves(rest) if not _repeats(path)}
    for sender, node in (("10.0.0.1", "A"), ("10.0.0.2", "B")):
        rows = [row for row in outcome.rows or [] if row.sender == sender]
        if rows:
            answer[f"packets of {node}"] = _packets(rows)
    return answer


def _repeats(path: str) -> bool:
    """Of a call only how it ended."""
    return path.startswith("calls[") and not path.endswith(".rc")


def completion(wc: dict[str, Any]) -> str:
    """`2 SUCCESS RECV 32 WITH_IMM 0x00000005`, without what is left out."""
    words = [str(wc["wr_id"]), wc["status"]]
    if wc["status"] == "SUCCESS":
        words.append(wc["opcode"])
        words += [str(wc["byte_len"])] if wc["opcode"] in _COUNTED else []
        words += [flag for flag in wc["wc_flags"] if flag != "GRH"]
        words += [wc["imm_data_be"]] if "WITH_IMM" in wc["wc_flags"] else []
    return " ".join(words)


def _packets(rows: list[outcomes.Row]) -> str:
    """`4 at 0x200, 17 at 0x200 (31, 1)`: opcode, PSN, syndrome and MSN; only the first few."""
    shown = [
        f"{row.opcode} at {row.psn:#x}" + (f" ({row.syndrome}, {row.msn})" if row.msn >= 0 else "")
        for row in rows[:_SHOWN]
    ]
    more = [f"{len(rows)} in all"] if len(rows) > _SHOWN else []
    return ", ".join([*shown, *more])


_SHOWN = 8


# --------------------------------------------------------------------------- all of them
def paragraphs(view: Stage, written: dict[str, list[str]] | None) -> tuple[list[str], list[str]]:
    """The table, and what is wrong with the cells that are written in it."""
    rxe, strict = (view.play(profile) for profile in (RXE, STRICT))
    table, complaints = [], []
    for name in rxe:
        if answer_of(rxe[name]) == answer_of(strict[name]):
            continue
        found, ask = view.both(name), partial(view.answer, name)
        cells = responsible(ask, found.strict) if written is None else written.get(name, [])
        table.append(rendered(name, found, cells))
        if written is not None:
            complaints += _complaints(name, ask, found.strict, cells)
    return table, complaints


def _complaints(
    name: str, ask: Callable[[Profile], Answer], strict: Answer, cells: list[str]
) -> list[str]:
    if ask(rxe_but(cells)) != strict:
        return [f"{name}: {cells} do not make the difference"]
    fewer = {cell: [each for each in cells if each != cell] for cell in cells}
    return [f"{name}: {cell} in vain" for cell in cells if ask(rxe_but(fewer[cell])) == strict]


def main() -> None:
    written = json.load(sys.stdin)
    _listen()
    with TemporaryDirectory() as place:
        table, complaints = paragraphs(Stage(Path(place)), written)
    json.dump({"paragraphs": table, "complaints": complaints}, sys.stdout)


if __name__ == "__main__":
    main()
