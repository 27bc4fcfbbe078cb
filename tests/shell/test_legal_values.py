from pathlib import Path

import pytest

from rdmalab.lab import Lab
from rdmalab.shell import legal_values
from rdmalab.shell.legal_arguments import Choice
from rdmalab.shell.prompt_setup import choices
from tests.labs import lab_of
from tests.shell.prompts import Prompt


@pytest.fixture(scope="module")
def fresh() -> Prompt:
    return Prompt("use rc_pair", "reset A.qp0", "reset B.qp0")


def offered(prompt: Prompt, line: str) -> list[Choice]:
    """What may stand at `‸`, or at the end."""
    cursor = line.find("‸")
    text = line.replace("‸", "")
    return choices(prompt.lab.session, text, cursor if cursor >= 0 else len(text))[0]


def texts(prompt: Prompt, line: str) -> list[str]:
    return [choice.text for choice in offered(prompt, line)]


def test_only_legal_next_states_are_offered(fresh: Prompt) -> None:
    assert set(texts(fresh, "modify_qp A.qp0 state=")) == {"INIT", "RESET"}
    assert set(texts(Prompt("use rc_pair"), "modify_qp A.qp0 state=")) == {
        "RESET",
        "RTS",
        "SQD",
        "ERR",
    }


def test_after_the_qp_the_states_are_offered_at_once(fresh: Prompt) -> None:
    assert texts(fresh, "modify_qp A.qp0 ") == ["state=INIT", "state=RESET", "state="]


def test_required_attributes_come_first_and_no_illegal_ones_at_all(fresh: Prompt) -> None:
    found = offered(fresh, "modify_qp A.qp0 state=INIT ")
    assert {c.text for c in found} == {"pkey_index=", "port_num=", "qp_access_flags="}
    assert {c.meta for c in found} == {"required RESET→INIT"}
    assert texts(fresh, "modify_qp A.qp0 state=INIT port_num=1 pk") == ["pkey_index="]
    assert texts(fresh, "modify_qp A.qp0 state=INIT timeo") == []


def test_bring_up_offers_required_before_optional_attributes(fresh: Prompt) -> None:
    prompt = Prompt("use rc_pair", "reset A.qp0")
    prompt.ask("modify_qp A.qp0 state=INIT port_num=1 pkey_index=0 qp_access_flags=0")
    found = offered(prompt, "modify_qp A.qp0 state=RTR ")
    metas = [c.meta.split()[0] for c in found]
    assert metas == sorted(metas, key=["required", "optional"].index)
    named = [c.text for c in found]
    assert "ah=" in named
    assert "dest_qp_num=" in named
    assert not any(name.startswith("alt_") for name in named)  # refused on RoCE


def test_what_is_given_is_not_offered_again(fresh: Prompt) -> None:
    assert "port_num=" not in texts(fresh, "modify_qp A.qp0 ‸ state=INIT port_num=1")


def test_names_by_kind_and_alive(fresh: Prompt) -> None:
    assert texts(fresh, "modify_qp ") == ["A.qp0", "B.qp0"]
    assert texts(fresh, "modify_qp q") == ["qp0"]
    gone = Prompt("use rc_pair", "destroy_qp A.qp0")
    assert texts(gone, "modify_qp ") == ["B.qp0"]


def test_objects_of_one_host_stay_together(fresh: Prompt) -> None:
    assert texts(fresh, "create_qp B.qp1 pd=") == ["B.pd0"]
    assert texts(fresh, "post_recv B.qp0 sg=") == ["B.mr0[0:4096]", "B.mr0"]
    assert texts(fresh, "post_send A.qp0 opcode=RDMA_READ remote=") == ["B.mr0[0:4096]", "B.mr0"]
    assert texts(fresh, "modify_qp A.qp0 state=INIT ah=") == ["B"]


def test_a_new_name_is_free(fresh: Prompt) -> None:
    assert texts(fresh, "create_qp ") == ["A.qp1", "B.qp1"]


def test_ranges_know_the_size_of_the_buffer(fresh: Prompt) -> None:
    (found,) = offered(fresh, "post_recv B.qp0 sg=B.mr0[64:")
    assert found.text == "B.mr0[64:4096]"
    assert "4096 bytes" in found.meta


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("opcode=RDMA_R", ["RDMA_READ"]),
        ("opcode=IBV_WR_RDMA_R", ["IBV_WR_RDMA_READ"]),
        ("opcode=rdma_r", ["RDMA_READ"]),
        ("opcode=TS", []),  # not an opcode of an RC queue pair
        ("opcode=SEND flags=SIGNALED|S", ["SOLICITED"]),
        ("opcode=RDMA_READ flags=IN", []),  # INLINE does not go with it
    ],
)
def test_enum_values(typed: str, expected: list[str]) -> None:
    assert texts(Prompt("use rc_pair"), f"post_send A.qp0 {typed}") == expected


def test_only_the_fields_that_an_opcode_reads() -> None:
    prompt = Prompt("use rc_pair")
    send = texts(prompt, "post_send A.qp0 opcode=SEND ")
    assert "remote=" not in send
    assert "swap=" not in send
    assert texts(prompt, "post_send A.qp0 opcode=ATOMIC_CMP_AND_SWP ")[0] == "remote="


def test_verbs_come_with_their_summaries(fresh: Prompt) -> None:
    assert offered(fresh, "alloc")[0].meta == "Allocate a protection domain."
    assert texts(fresh, "ibv_alloc_pd") == ["ibv_alloc_pd"]
    assert "modify_qp" in texts(fresh, "qp")  # a word inside a name finds it
    assert texts(fresh, "s")[0] == "s"


def test_questions_go_on_with_fields_and_members(fresh: Prompt) -> None:
    assert "A.qp0.sq.used" in texts(fresh, "until A.qp0.sq")
    assert "qp0.state" in texts(fresh, "until qp0.st")
    assert "RTS" in texts(fresh, "until A.qp0.state == R")
    assert "within " in texts(fresh, "until A.qp0.state == ERR ")


def test_words_directions_and_scenario_files(fresh: Prompt) -> None:
    assert texts(fresh, "link ")[:2] == ["up", "down"]
    assert "A->B" in texts(fresh, "fault drop ")
    assert texts(fresh, "show q")[:2] == ["qp", "qp0"]
    assert "scenarios/rc/send.rdmalab.yaml" in texts(fresh, "load scen")
    assert texts(fresh, "export ") == ["pcapng", "svg", "mermaid", "cast", "c", "pyverbs"]
    assert texts(fresh, "export pcapng ") == []  # a scenario is nothing to write over


def test_load_offers_the_lessons_before_files_and_files_of_folders_where_one_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("clone/scenarios/rc/send", "atomic/mine", "mine"):
        path = tmp_path / f"{name}.rdmalab.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("rdmalab: 1\ntitle: A title\nsteps: []\n")
    monkeypatch.chdir(tmp_path)
    prompt = Prompt("use rc_pair")
    found = texts(prompt, "load ")
    assert found[0] == "atomic/add"
    assert found[-1] == "mine.rdmalab.yaml"
    assert not [name for name in found if name.startswith(("clone", "atomic/mine"))]
    assert texts(prompt, "load atomic/m")[-1] == "atomic/mine.rdmalab.yaml"
    assert texts(prompt, "load clone")[-1] == "clone/scenarios/rc/send.rdmalab.yaml"


@pytest.mark.parametrize(
    "line", ["", " ", "x y z", "modify_qp ", "post_send A.qp0 wr={", "a=b ;", '"']
)
def test_no_broken_text_breaks_it(fresh: Prompt, line: str) -> None:
    for cursor in range(len(line) + 1):
        choices(fresh.lab.session, line, cursor)


_EX = "create_qp_ex A.qx0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 send_ops_flags=SEND"


def test_builders_are_offered_for_who_can_have_them() -> None:
    prompt = Prompt("use rc_pair", _EX)
    assert texts(prompt, "wr_send ") == ["A.qx0"]
    assert "A.qp0" in texts(prompt, "post_send ")
    offers = texts(prompt, "create_qp_ex A.qx1 qp_type=UD send_ops_flags=")
    assert "SEND" in offers
    assert "RDMA_READ" not in offers
    assert "SIGNALED" in texts(prompt, "wr_set A.qx0 wr_flags=")
    assert "INLINE" not in texts(prompt, "wr_set A.qx0 wr_flags=")


def test_what_c_lets_one_do_wrong_is_not_advertised() -> None:
    prompt = Prompt("use rc_pair")
    keys = texts(prompt, "post_send A.qp0 opcode=SEND ")
    assert not {"num_sge=", "next=", "rest=", "bad_wr="} & set(keys)
    assert "num_sge=" in texts(prompt, "post_send A.qp0 opcode=SEND num")


_WAY = {"ah=", "remote_qpn=", "remote_qkey=", "remote_srqn="}


@pytest.mark.parametrize(
    ("pair", "wanted"),
    [
        ("rc_pair", set()),
        ("uc_pair", set()),
        ("raw_pair", set()),
        ("ud_pair", {"ah=", "remote_qpn=", "remote_qkey="}),
        ("xrc_pair", {"remote_srqn="}),
    ],
)
def test_where_a_message_goes_is_asked_of_the_types_that_must_say_it(
    pair: str, wanted: set[str]
) -> None:
    keys = texts(Prompt(f"use {pair}"), "post_send A.qp0 opcode=SEND ")
    assert _WAY & set(keys) == wanted
    assert set(keys[: len(wanted)]) == wanted  # before what may be left out
    assert not {"mss=", "hdr=", "mw=", "swap="} & set(keys)


def test_ah_is_of_the_same_node_and_remote_qpn_of_the_peer() -> None:
    ud, xrc = Prompt("use ud_pair"), Prompt("use xrc_pair")
    assert [(c.text, c.meta) for c in offered(ud, "post_send A.qp0 opcode=SEND ah=")] == [
        ("A.ah0", "to 10.0.0.2")
    ]
    assert texts(ud, "post_send A.qp0 opcode=SEND remote_qpn=") == ["B.qp0"]
    assert texts(ud, "create_ah A.ah1 pd=A.pd0 to=") == ["B"]
    assert texts(xrc, "post_send A.qp0 opcode=SEND remote_srqn=") == ["B.srq0"]


def test_the_headers_of_a_tso_are_asked_with_it() -> None:
    prompt = Prompt("use raw_pair max_tso_header=54")
    assert {"mss=", "hdr="} <= set(texts(prompt, "post_send A.qp0 opcode=TSO "))


_STARTED = "program A.tx lines={"


def test_a_line_of_a_program_begins_with_its_words_and_what_changes_the_world() -> None:
    prompt = Prompt("use rc_pair")
    assert texts(prompt, f"{_STARTED}po") == ["poll", *texts(prompt, "po")]
    assert texts(prompt, f"{_STARTED} poll_cq A.cq0; sl") == ["sleep"]
    assert texts(prompt, f"{_STARTED}\n  loop 3\n  wa") == ["wait"]
    assert texts(prompt, f"{_STARTED}run") == []
    assert texts(prompt, f"{_STARTED}prog") == []
    assert texts(prompt, "sl") == []


def test_completion_continues_after_the_lines_of_a_program() -> None:
    prompt = Prompt("use rc_pair")
    assert texts(prompt, f"{_STARTED}stop; stop}} pa") == ["pace="]
    assert texts(prompt, f"{_STARTED}poll_cq A.c‸; stop}}") == ["A.cq0"]


def test_the_moments_and_branches_there_are_and_the_breakpoints() -> None:
    prompt = Prompt("use rc_pair", "checkpoint up", "break idle", "watch A.cq0.count")
    assert texts(prompt, "delete ")[:2] == ["1", "2"]
    assert texts(prompt, "switch ") == []
    assert texts(prompt, "goto ") == ["@up", "start", "end"]
    prompt.ask("goto 9; alloc_pd A.pd9; checkpoint other")
    assert [(c.text, c.meta) for c in offered(prompt, "diff @")] == [
        ("@up", "event 13 of main"),
        ("@other", "event 10"),
    ]
    assert [(c.text, c.meta) for c in offered(prompt, "switch ")] == [("main", "up to event 13")]
    prompt.ask("switch main")
    assert offered(prompt, "switch b") == [
        Choice("branch-1", "up to event 10, left main at event 9")
    ]
    assert [c.meta for c in offered(prompt, "delete 2")] == ["watch A.cq0.count"]


@pytest.fixture(scope="module")
def asking() -> Prompt:
    send = "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
    return Prompt("use rc_pair", send, "modify_qp A.qp0 state=INIT")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("why A.qp0", ["A.qp0", "A.qp0.wr[7]"]),
        ("why A.qp0.w", ["A.qp0.wr[7]"]),
        ("why A.qp0.wr[", ["A.qp0.wr[7]"]),
        ("apply qp0.wr[7", ["qp0.wr[7]"]),
        ("why A.c", ["A.cq0"]),
        ("why E", ["EINVAL"]),
        ("why A.p", []),
        ("why A.qp0 ", ["at ", "-v"]),
        ("why A.qp0 B", []),
        ("checklist ", ["no-completion", "no-receive", "bring-up", "slow"]),
        ("checklist s", ["slow"]),
        ("checklist slow B.qp", ["B.qp0"]),
        ("checklist slow B.qp0 ", []),
        ("show qp; why A.cq", ["A.cq0"]),
    ],
)
def test_what_one_can_ask_why_of(asking: Prompt, line: str, found: list[str]) -> None:
    assert texts(asking, line) == found


def test_it_begins_with_queues_and_their_work_and_says_what_they_are(asking: Prompt) -> None:
    found = [(choice.text, choice.meta) for choice in offered(asking, "why ")]
    assert found[:2] == [("A.qp0", "RC 0x11 RTS"), ("A.qp0.wr[7]", "SEND 64 B, posted in ev 14")]
    assert found[-5:-3] == [("EINVAL", "returned so far"), ("A", "all that is wrong on it")]


def test_all_of_a_work_request_is_replaced(asking: Prompt) -> None:
    line = "why A.qp0.wr[7"
    place = choices(asking.lab.session, line, len(line))[1].place
    assert line[place.start : place.stop] == "A.qp0.wr[7"


@pytest.mark.parametrize("profile", ["strict", "rxe", "mlx5"])
def test_no_opcode_is_offered_where_no_send_is_taken(profile: str) -> None:
    """README: Tab completes only what is legal now."""
    lab = Lab(profile=profile)
    for line in ("use rc_pair", "reset A.qp0"):
        lab.do(line)
    begun = "post_send A.qp0 opcode="
    assert choices(lab.session, begun, len(begun))[0] == []
    bring_up = (
        "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
        "modify_qp A.qp0 state=RTR path_mtu=512 dest_qp_num=B.qp0 rq_psn=0 max_dest_rd_atomic=1"
        " min_rnr_timer=12 ah=B",
    )
    for line in bring_up:
        lab.do(line)
        assert choices(lab.session, begun, len(begun))[0] == []
    lab.do("modify_qp A.qp0 state=RTS timeout=14 retry_cnt=7 rnr_retry=7 sq_psn=0 max_rd_atomic=1")
    assert choices(lab.session, begun, len(begun))[0]


@pytest.mark.parametrize("verb", ["post_send", "post_recv"])
def test_a_queue_pair_that_refuses_all_work_gets_no_keys(verb: str) -> None:
    lab = lab_of()
    line = f"{verb} A.qp0 "
    assert choices(lab.session, line, len(line))[0]
    lab.do("modify_qp A.qp0 state=RESET")
    assert choices(lab.session, line, len(line))[0] == []
    line += "wr_id=1 opcode="
    assert choices(lab.session, line, len(line))[0] == []


def test_an_id_of_a_student_is_nothing_to_complete() -> None:
    lab = lab_of()
    for line in ("load labs/by-hand student=", "load labs/by-hand student=a"):
        assert choices(lab.session, line, len(line))[0] == []
    assert choices(lab.session, "load ", 5)[0]


def test_continue_offers_the_sessions_that_are_kept(
    fresh: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    legal_values._kept_sessions.cache_clear()
    monkeypatch.setattr(legal_values, "described", lambda: ["14 lines", "2 lines"])
    found = {choice.text: choice.meta for choice in offered(fresh, "continue ")}
    assert (found["1"], found["2"]) == ("14 lines", "2 lines")
