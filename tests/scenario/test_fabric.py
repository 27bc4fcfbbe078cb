"""Options of a node in a scenario file."""

from rdmalab.scenario.fabric import Node
from rdmalab.scenario.model import MAX_STEPS, Document


def test_limits_of_a_node_are_those_of_query_device() -> None:
    document = Document.model_validate(
        {"rdmalab": "1", "title": "t", "steps": ["x"], "nodes": {"A": {"max_qp": "4"}, "B": {}}}
    )
    assert document.nodes["A"].caps() == {"max_qp": 4}
    assert "max_cqe" in Node.model_fields
    assert MAX_STEPS == 20_000
