"""Feedback in the forms of others: the zip of Moodle's feedback files, results of Gradescope."""

import zipfile
from collections.abc import Mapping
from io import BytesIO

_DATE = (1980, 1, 1, 0, 0, 0)  # the same bytes each time


def moodle_zip(pages: Mapping[str, bytes], name: str) -> bytes:
    """The file for Upload multiple feedback files in a zip.

    pages: by the folder of the student in the download, as Moodle made it; there Moodle finds the
    student by the number in the name of the folder. name: of each page.
    """
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder, octets in sorted(pages.items()):
            entry = zipfile.ZipInfo(f"{folder}/{name}", _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, octets)
    return out.getvalue()
