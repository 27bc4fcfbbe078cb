"""A migration that is gone back to, played again, saved and shared is the same migration."""

from pathlib import Path

from rdmalab.lab import Lab, open_session
from rdmalab.scenario.loader import load, loads
from rdmalab.scenario.runner import Runner
from rdmalab.scenario.saving import saved
from rdmalab.scenario.share_text import scenario_of
from rdmalab.vocabulary import VOCABULARY
from tests.digest import digest
from tests.labs import lab_of, well

ALTERNATE = "alt_pkey_index=0 alt_port_num=1 alt_timeout=8 path_mig_state=REARM"


def migrated() -> Lab:
    return lab_of(
        f"modify_qp A.qp0 alt_ah=B {ALTERNATE}",
        f"modify_qp B.qp0 alt_ah=A {ALTERNATE}",
        "post_recv B.qp0 sg=B.mr0[0:64]",
        "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED",
        "run",
        "checkpoint armed",
        "fault drop dlid=4",
        "fault drop dlid=2",
        "post_recv B.qp0 sg=B.mr0[0:64]",
        "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED",
        "run",
        pair="use rc_pair link_layer=InfiniBand retry_cnt=1 timeout=8",
    )


def paths(lab: Lab) -> list[str]:
    return [
        f"{lab.look(f'{qp}.path_mig_state').name} {lab.look(f'{qp}.dlid')}"
        for qp in ("A.qp0", "B.qp0")
    ]


def test_the_past_has_the_first_path_and_the_present_the_second() -> None:
    lab = migrated()
    assert paths(lab) == ["MIGRATED 5", "MIGRATED 3"]
    before = digest(lab.session.world.trace)
    well(lab, "goto @armed")
    assert paths(lab) == ["ARMED 4", "ARMED 2"]
    assert lab.look("A.port.async_events == 0")
    well(lab, "goto end")
    assert paths(lab) == ["MIGRATED 5", "MIGRATED 3"]
    assert digest(lab.session.world.trace) == before


def test_events_are_undone_one_by_one() -> None:
    lab = migrated()
    seen: list[list[str]] = []
    while not seen or seen[-1] != ["REARM 4", "REARM 2"]:
        well(lab, "back")
        if not seen or paths(lab) != seen[-1]:
            seen.append(paths(lab))
    assert seen == [
        ["MIGRATED 5", "MIGRATED 3"], ["MIGRATED 5", "ARMED 2"], ["ARMED 4", "ARMED 2"],
        ["REARM 4", "ARMED 2"], ["REARM 4", "REARM 2"],
    ]  # fmt: skip


def test_in_the_past_a_branch_without_the_cut_stays_on_the_first_path() -> None:
    lab = migrated()
    well(lab, "goto @armed")
    well(lab, "post_recv B.qp0 sg=B.mr0[0:64]")
    well(lab, "post_send A.qp0 wr_id=3 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED")
    well(lab, "run")
    assert paths(lab) == ["ARMED 4", "ARMED 2"]
    well(lab, "switch main")
    well(lab, "goto end")
    assert paths(lab) == ["MIGRATED 5", "MIGRATED 3"]


def test_before_the_link_layer_was_chosen_there_is_ethernet() -> None:
    lab = migrated()
    well(lab, "goto start")
    assert lab.look("A.port.link_layer").name == "ETHERNET"
    assert lab.session.world.network.owner_of(0xFFFF_0A00_0002) == "B"
    well(lab, "goto end")
    assert lab.look("A.port.lid == 2")


def test_saved_and_played_again_it_is_the_same_world(tmp_path: Path) -> None:
    lab = migrated()
    path = tmp_path / "saved.rdmalab.yaml"
    path.write_text(saved(lab.session, "migration"))
    runner = Runner(load(str(path), VOCABULARY), open_session)
    runner.run()
    assert runner.ok
    assert digest(runner.session.world.trace) == digest(lab.session.world.trace)


def test_shared_and_opened_it_is_the_same_world() -> None:
    lab = migrated()
    word = well(lab, "share").value.text
    runner = Runner(loads(scenario_of(word), "shared", VOCABULARY), open_session)
    runner.run()
    assert runner.ok
    assert digest(runner.session.world.trace) == digest(lab.session.world.trace)
    opened = Lab()
    opened.session = runner.session
    assert paths(opened) == ["MIGRATED 5", "MIGRATED 3"]
    event = lab.session.checkpoints["armed"][1].event  # names of checkpoints are not shared
    well(opened, f"goto ev{event}")
    assert paths(opened) == ["ARMED 4", "ARMED 2"]
    well(opened, "goto end")
    assert paths(opened) == ["MIGRATED 5", "MIGRATED 3"]


def test_diff_names_the_path_that_changed() -> None:
    lab = migrated()
    view = well(lab, "diff @armed").value
    changed = {row.field: (row.old, row.new) for row in view.rows}
    assert changed["A.qp0.path_mig_state"] == ("ARMED", "MIGRATED")
    assert changed["A.qp0.dlid"] == ("4", "5")
    assert changed["A.qp0.slid"] == ("2", "3")
