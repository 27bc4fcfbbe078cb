"""Exactly one suggestion: the nearest word, or what would be legal."""

from rdmalab.grammar.hints import elsewhere, listed, part_of_sge, quoted, suggest


def test_the_nearest_word_is_suggested_in_its_own_case() -> None:
    assert suggest("rtss", ["RESET", "RTR", "RTS"]) == "did you mean RTS?"
    assert suggest("n", ["cqe", "num_entries="]) == "legal here: cqe, num_entries="
    assert suggest("num", ["cqe", "num_entries="]) == "did you mean num_entries=?"


def test_a_part_of_a_key_and_a_key_of_other_programs_are_known() -> None:
    assert suggest("mr", ["wr_id", "bind_mr", "flags"]) == "did you mean bind_mr?"
    assert suggest("mr", ["bind_mr", "next_mr"]) == "legal here: bind_mr, next_mr"
    assert suggest("probability", ["victim", "rate"]) == "did you mean rate?"
    assert suggest("probability", ["victim"]) == "legal here: victim"


def test_far_words_get_what_is_legal_abbreviated() -> None:
    assert suggest("qqq", ["a", "b"]) == "legal here: a, b"
    assert suggest("qqq", "abcdefgh") == "legal here: a, b, c, d, e, f, …"
    assert listed([]) == ""


def test_a_long_text_is_cut_and_not_compared() -> None:
    assert quoted("x" * 50) == f'"{"x" * 40}…"'
    assert suggest("RTS" * 20, ["RTS"]) == "legal here: RTS"


def test_a_misspelled_word_of_another_program_has_its_hint() -> None:
    assert elsewhere("recieve") == elsewhere("receive") == "did you mean post_recv?"
    assert elsewhere("branch").startswith("branches lists")
    assert "F2 finds" in elsewhere("jump")
    assert "holds its queue pair" in elsewhere("pin")
    for word in ("grade", "check", "compare"):
        assert f"rdmalab {word} is a command of the shell" in elsewhere(word)
    assert "f in the pane Wire" in elsewhere("filter")
    assert "/ in a pane" in elsewhere("find")
    assert elsewhere("qqq") == elsewhere("r" * 50) == ""


def test_the_fields_of_an_sge_lead_to_sg() -> None:
    local = "sg=A.mr0[0:64] is addr, length and lkey of the local bytes"
    assert part_of_sge("length", ["sg", "bind_length"]) == local
    assert part_of_sge("addr", ["sg", "remote_addr"]).startswith(f"{local}; remote_addr is")
    assert part_of_sge("addr", ["pd", "addr"]) == part_of_sge("rkey", ["sg"]) == ""
