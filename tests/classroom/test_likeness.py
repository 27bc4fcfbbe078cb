"""Works that have most of their lines in common."""

from rdmalab.classroom.likeness import alike


def test_likeness_leaves_out_numbers_and_what_a_solution_has_too() -> None:
    lines = [f"post_send A.qp{n} opcode=SEND" for n in range(3)]
    works = {
        "a": [*lines, "run 1us", "poll_cq A.cq0"],
        "b": [line.replace("qp", "qp1") for line in lines] + ["run 7us", "poll_cq  A.cq0"],
        "c": ["reset A.qp0", "run", "show", "poll_cq A.cq0"],
        "d": [],
    }
    assert [(one, other) for _, one, other in alike(works, [], 0.9)] == [("a", "b")]
    assert alike(works, [works["a"]], 0.9) == []
