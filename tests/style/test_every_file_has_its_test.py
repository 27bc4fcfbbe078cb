"""Every room's file has a test file of its name, or is one of the few that others test."""

from pathlib import Path

ROOT = Path(__file__).parents[2]

# file → the test that looks after it
ELSEWHERE = {
    "doctor/answers.py": "doctor/diagnosis/test_checklist.py",
    "doctor/diagnosis/cures.py": "doctor/diagnosis/test_diagnose.py",
    "doctor/evidence/ownership.py": "doctor/checks/test_ownership.py",
    "doctor/evidence/subject.py": "doctor/asking/test_subjects.py",
    "classroom/next_line.py": "shell/test_kept_labs.py",
    "classroom/picture.py": "classroom/test_gradebook.py",
    "book/course_pages.py": "classroom/test_gradebook.py",
    "tui/list_pane.py": "tui/panes/test_past.py",
    "book/guide_pages.py": "book/test_build.py",
    "book/steps.py": "book/test_lesson_page.py",
    "export/replay/requests.py": "export/test_c_programs.py",
    "export/replay/calls.py": "export/test_c_programs.py",
    "export/replay/names.py": "export/test_c_programs.py",
    "export/replay/structs.py": "export/test_c_programs.py",
    "workbench/lab_words.py": "shell/test_lab_requests.py",
    "classroom/grade_document.py": "classroom/test_formats.py",
    "classroom/instructor_model.py": "classroom/test_notes_page.py",
    "classroom/model.py": "classroom/test_lab_file.py",
    "__main__.py": "test_cli.py",
    "__init__.py": "style/test_import_hygiene.py",
    "serve/piped_app.py": "serve/test_server.py",
    "version.py": "test_cli.py",
    "command/errors.py": "command/test_arguments.py",
    "command/metadata.py": "command/test_kinds.py",
    "hca/adapter.py": "hca/test_device.py",
    "hca/send_checks.py": "hca/test_posting.py",
    "scenario/planned_step.py": "scenario/test_planner.py",
    "scenario/rehearsal.py": "scenario/test_mistakes.py",
    "scenario/repair.py": "scenario/test_mistakes.py",
    "shell/output_format.py": "shell/test_reply_text.py",
    "shell/value_text.py": "shell/test_reply_text.py",
    "export/__init__.py": "export/test_pcapng.py",
    "tui/node_card.py": "tui/panes/test_node.py",
    "tui/console/live.py": "tui/console/test_pane.py",
    "compat/pyverbs/c_types.py": "compat/pyverbs/test_struct.py",
    "tui/launch.py": "tui/test_app.py",
    "tui/screens/answers.py": "tui/screens/test_page.py",
    "workbench/screen_words.py": "tui/test_screen_requests.py",
    "tui/pane_table.py": "tui/test_app.py",
    "tui/console/prompt.py": "tui/test_app.py",
    "workbench/help_pages.py": "workbench/test_help.py",
    "compat/c/calls.py": "compat/c/test_server.py",
    "compat/c/execute.py": "compat/c/test_outside_programs.py",
    "compat/c/posts.py": "compat/c/test_trouble.py",
    "compat/c/shared_memory.py": "compat/c/test_memory.py",
    "compat/c/sockets.py": "compat/c/test_server.py",
    "compat/c/words.py": "compat/c/test_trouble.py",
    "compat/pyverbs/addr.py": "compat/pyverbs/test_struct.py",
    "compat/pyverbs/base.py": "compat/pyverbs/test_surface.py",
    "compat/pyverbs/cq.py": "compat/pyverbs/test_struct.py",
    "compat/pyverbs/device_attr.py": "compat/pyverbs/test_device.py",
    "compat/pyverbs/libibverbs_enums.py": "compat/pyverbs/test_enums.py",
    "compat/pyverbs/librdmacm_enums.py": "compat/pyverbs/test_enums.py",
    "compat/pyverbs/memory_region.py": "compat/pyverbs/test_struct.py",
    "compat/pyverbs/mr.py": "compat/pyverbs/test_struct.py",
    "compat/pyverbs/mw.py": "compat/pyverbs/test_struct.py",
    "compat/pyverbs/pd.py": "compat/pyverbs/test_struct.py",
    "compat/pyverbs/qp.py": "compat/pyverbs/test_struct.py",
    "compat/pyverbs/qp_attr.py": "compat/pyverbs/test_struct.py",
    "compat/pyverbs/srq.py": "compat/pyverbs/test_struct.py",
    "compat/pyverbs/wc.py": "compat/pyverbs/test_struct.py",
    "compat/pyverbs/wq.py": "compat/pyverbs/test_unsupported.py",
    "compat/pyverbs/wr.py": "compat/pyverbs/test_struct.py",
    "compat/pyverbs/xrcd.py": "compat/pyverbs/test_struct.py",
}
# the same for every file of a folder
FOLDERS = {
    "cli": "test_cli.py",
    "doctor/checks": "doctor/test_root_causes.py",
    "export/c": "export/test_c_programs.py",
    "export/pyverbs": "export/test_pyverbs_programs.py",
    "compat/pyverbs/providers/efa": "compat/pyverbs/test_unsupported.py",
    "compat/pyverbs/providers/mlx5": "compat/pyverbs/test_unsupported.py",
}


def test_every_file_has_its_test() -> None:
    missing = []
    for file in sorted((ROOT / "rdmalab").rglob("*.py")):
        relative = file.relative_to(ROOT / "rdmalab")
        own = ROOT / "tests" / relative.parent / f"test_{relative.name}"
        other = ELSEWHERE.get(str(relative)) or FOLDERS.get(str(relative.parent))
        if relative.name == "__init__.py" and other is None and _is_only_words(file):
            continue
        if not own.exists() and (other is None or not (ROOT / "tests" / other).exists()):
            missing.append(str(relative))
    assert not missing, "write tests/ROOM/test_NAME.py for each, or name its test in ELSEWHERE"


def test_every_row_is_needed() -> None:
    """A row whose file is gone, or has a test of its own name by now, is removed."""
    idle = [
        file
        for file in ELSEWHERE
        if not (ROOT / "rdmalab" / file).exists()
        or (ROOT / "tests" / file).with_name(f"test_{file.rpartition('/')[2]}").exists()
    ]
    assert not idle, "remove these rows of ELSEWHERE"


def _is_only_words(file: Path) -> bool:
    return not any(word in file.read_text("utf-8") for word in ("def ", "class "))
