"""Submissions: read from a file or a word, and written; results in them are not read."""

from hashlib import sha256

import yaml

from rdmalab.classroom.solution_model import Submission
from rdmalab.scenario import yaml_tree
from rdmalab.scenario.document import shaped
from rdmalab.scenario.field_types import FORMAT
from rdmalab.scenario.share_text import WORK, Damaged, packed, unpacked
from rdmalab.scenario.source import FileError, Source

_KNOWN = frozenset(Submission.model_fields)


def is_word(text: str) -> bool:
    """Whether a text is a submission as one word."""
    return text.lstrip().startswith(f"{WORK.head}:")


def is_one(octets: bytes) -> bool:
    """Whether a file is a submission, which may be replaced by a newer one."""
    return b"kind: submission" in octets


def loads(text: str, path: str) -> Submission:
    """The submission in a text, YAML or a word; raises FileError. path: for messages.

    Keys that a submission does not have, such as a score, are ignored.
    """
    if is_word(text):
        try:
            text = unpacked(text, WORK)
        except Damaged as wrong:
            raise FileError(path, str(wrong)) from None
    source = Source(path, text)
    root = yaml_tree.compose(source)
    plain = yaml_tree.plain(root)
    if isinstance(plain, dict):
        plain = {key: value for key, value in plain.items() if key in _KNOWN}
    with shaped(source, root, document=Submission):
        return Submission.model_validate(plain)


def written(work: Submission) -> str:
    """The submission as YAML."""
    plain = work.model_dump(exclude_defaults=True)
    plain = {"rdmalab": FORMAT, "kind": "submission", **plain}
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100)


def word_of(work: Submission) -> str:
    """The submission as one word, to be pasted into a form."""
    return packed(written(work), WORK)


def fingerprint(text: str) -> str:
    """SHA-256 of a submission as it was handed in."""
    return sha256(text.encode()).hexdigest()
