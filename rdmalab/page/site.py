"""Assemble the page: Python as WebAssembly, a terminal, and the lab as one archive.

npm and pip download what `web/package-lock.json` and `web/requirements.txt` pin by hash; node
compiles with the page's own Python and cuts the fonts. The same files make the same bytes.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from rdmalab.command import UserError
from rdmalab.scenario.files import FOLDER, lessons_folder

PACKAGE = Path(__file__).parents[1]
WEB = PACKAGE / "web"
MARK = "files.txt"
"""The list by which `disk.write_tree` recognises a folder of this kind."""

_PINS = ("package.json", "package-lock.json", ".npmrc", "requirements.txt")
_PAGE = (
    "index.html", "page.css", "check.js", "main.js", "links.js", "store.js", "engine.js",
    "unpack.js",
)  # fmt: skip
_WORKER = "sw.js"
_VENDOR = {
    "pyodide/pyodide.mjs": "pyodide/pyodide.mjs",
    "pyodide/pyodide.asm.mjs": "pyodide/pyodide.asm.mjs",
    "pyodide/pyodide.asm.wasm": "pyodide/pyodide.asm.wasm",
    "xterm/xterm.mjs": "@xterm/xterm/lib/xterm.mjs",
    "xterm/xterm.css": "@xterm/xterm/css/xterm.css",
    "xterm/addon-fit.mjs": "@xterm/addon-fit/lib/addon-fit.mjs",
    "xterm/addon-unicode11.mjs": "@xterm/addon-unicode11/lib/addon-unicode11.mjs",
}
_FONTS = {
    "font/mono-400.woff2": "@fontsource/dejavu-mono/files/dejavu-mono-latin-400-normal.woff2",
    "font/mono-700.woff2": "@fontsource/dejavu-mono/files/dejavu-mono-latin-700-normal.woff2",
}
# What the app in a page never imports.
_UNUSED = re.compile(
    r"""
    .*\.(pyi|typed|c|pyx|pxd|h|exe)$ | (?!pydantic_core/).*\.so$ | .*\.dist-info/
    | _yaml/ | yaml/cyaml
    | annotated_types/test_cases | markdown_it/(cli/|port\.yaml|tree)
    | platformdirs/(android|ios|macos|windows|__main__|pytest|testing)
    | prompt_toolkit/(contrib|win32|.*win32|.*windows)
    | pydantic/(v1|mypy|experimental|color|deprecated/(?!__init__|class_validators|config|tools))
    | pygments/(lexers|styles|formatters)/(?!__init__|_mapping|default|python\.py|special)
    | pygments/(sphinxext|cmdline) | rich/(__main__|_inspect|_win32|_windows|bar|diagnose|filesize)
    | rich/(layout|logging|progress|prompt)
    | rich/_unicode_data/unicode(?!17-)
    | textual/(demo|tree-sitter|_markup_playground|__main__|document/|_text_area_theme)
    | textual/(_binary_encode|_doc|_import_app|_slug|eta|highlight|renderables/(digits|sparkline))
    | textual/widgets/_(text_area|markdown|masked_input|selection_list|list_view|rich_log|log|radio)
    | textual/widgets/_(collapsible|header|sparkline|digits|link|welcome|pretty|checkbox|switch)
    | textual/widgets/_(footer|help|key|list_item|progress|rule|tabbed|toggle)
    | textual/drivers/(linux|windows|win32|_byte|_input|web)
    | wcwidth/table_grapheme_overrides/_known
    | rdmalab/(ARCHITECTURE|book|cli|compat|lessons|page/site|pytest_plugin|serve|sweep|web)
    """,
    re.VERBOSE,
)
_UNUSED_STDLIB = re.compile(
    r"""(
    antigravity | argparse | bdb | cProfile | cmd | code | compileall | configparser | csv
    | curses | dbm | doctest | ensurepip | fileinput | filecmp | ftplib | http | idlelib
    | imaplib | lib2to3 | mailbox | modulefinder | multiprocessing | netrc | optparse | pdb
    | pickletools | plistlib | poplib | profile | pstats | pyclbr | pydoc | pydoc_data | _pyio
    | _pyrepl | shelve | smtplib | socketserver | sqlite3 | symtable | tabnanny | tarfile
    | timeit | tkinter | trace | tracemalloc | turtle | turtledemo | unittest | venv | wave
    | webbrowser | wsgiref | xml/(etree|sax) | xmlrpc | zipapp | _pydatetime
    | asyncio/(windows_|proactor_) | email/(?!__init__) | encodings/(mac_|cp[1-9]\d+(?<!437))
    | getopt | gettext | pprint | _markupbase | graphlib | html/parser | nturl2path | sched
    | sre_compile | sre_constants | sre_parse | this | __hello__ | __phello__
    | ctypes/(_aix|macholib)
    | urllib/(request|robotparser)
    )([/.]|$|(?<=[_/]))""",
    re.VERBOSE,
)
_NATIVE = ("pydantic_core/",)  # its module is native, so that it has to be a file
_LICENCE = re.compile(r"(?i)(licen[cs]e|copying|notice|ofl)(\.(md|txt))?$")
_WHEELS = (
    "--no-deps", "--require-hashes", "--only-binary=:all:", "--python-version=3.14",
    "--implementation=cp", "--abi=cp314", "--abi=none", "--platform=pyemscripten_2026_0_wasm32",
    "--platform=manylinux2014_x86_64",
)  # fmt: skip

Tell = Callable[[str], None]


class CannotAssemble(UserError):  # noqa: N818  (it says what is missing)
    """Raised with what is missing, or what a program that was called has printed."""


def assembled(downloads: Path, work: Path, tell: Tell) -> dict[str, bytes]:
    """All files of the page by their path.

    downloads: where packages are kept for the next time. work: an empty folder. tell: gets a
    sentence for each step. Raises CannotAssemble.
    """
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise CannotAssemble(f"{program} is not installed; the page needs node 20 and its npm")
    tell("downloading what is pinned")
    _download(downloads)
    modules = downloads / "node_modules"
    tell("compiling with the page's own Python: one minute, on a busy machine five")
    _fill(downloads, work)
    _run("node", WEB / "compile.mjs", modules / "pyodide", work)
    _run("node", WEB / "fonts.mjs", modules, work, *(modules / path for path in _FONTS.values()))
    files = {name: (WEB / name).read_bytes() for name in _PAGE}
    files |= {f"vendor/{name}": (modules / path).read_bytes() for name, path in _VENDOR.items()}
    for name, path in _FONTS.items():
        files[f"vendor/{name}"] = (work / "fonts" / Path(path).name).read_bytes()
    files["vendor/pyodide/python_stdlib.zip"] = (work / "boot.zip").read_bytes()
    files["vendor/pyodide/pyodide-lock.json"] = _empty_lock(modules / "pyodide")
    files["lab.bin"] = (work / "lab.bin").read_bytes()
    files["licenses.txt"] = _licences(downloads).encode()
    return _with_list(files)


def _with_list(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files with site.json, which lists them, and the worker that keeps this version."""
    sums = {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)}
    worker = (WEB / _WORKER).read_text("utf-8")
    version = hashlib.sha256((json.dumps(sums) + worker).encode()).hexdigest()[:16]
    site = {"version": version, "files": sums}
    return files | {
        "site.json": (json.dumps(site, indent=1) + "\n").encode(),
        _WORKER: worker.replace("VERSION", version).encode(),
    }


# --------------------------------------------------------------------------- downloads
def _download(folder: Path) -> None:
    """Download what is pinned, unless the folder has it."""
    pins = {name: (WEB / name).read_bytes() for name in _PINS}
    digest = hashlib.sha256(b"\0".join(pins.values())).hexdigest()
    done = folder / "complete.txt"
    if done.is_file() and done.read_text("utf-8") == digest:
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name, octets in pins.items():
        (folder / name).write_bytes(octets)
    shutil.rmtree(folder / "wheels", ignore_errors=True)
    _run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", folder=folder)
    _run(
        sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
        *_WHEELS, "-d", folder / "wheels", "-r", WEB / "requirements.txt",
    )  # fmt: skip
    done.write_text(digest, "utf-8")


def _run(*command: str | Path, folder: Path | None = None) -> None:
    words = list(map(str, command))
    words[0] = shutil.which(words[0]) or words[0]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise CannotAssemble(f"{Path(words[0]).name} has failed with {done.returncode}:\n{last}")


# --------------------------------------------------------------------------- what is compiled
def _fill(downloads: Path, work: Path) -> None:
    """Lay out what compile.mjs reads."""
    with zipfile.ZipFile(downloads / "node_modules/pyodide/python_stdlib.zip") as source:
        for name in source.namelist():
            if not name.endswith("/") and not _UNUSED_STDLIB.match(name):
                _put(work / "stdlib" / name, source.read(name))
    for wheel in sorted((downloads / "wheels").glob("*.whl")):
        with zipfile.ZipFile(wheel) as source:
            for name in source.namelist():
                is_native = name.startswith(_NATIVE)
                if not name.endswith("/") and not _UNUSED.match(name):
                    _put(work / ("files" if is_native else "packages") / name, source.read(name))
    for name, octets in (*_files(PACKAGE, "rdmalab"), *_files(lessons_folder(), FOLDER)):
        if not _UNUSED.match(name):
            _put(work / "files" / name, octets)


def _files(folder: Path, within: str) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            yield f"{within}/{path.relative_to(folder).as_posix()}", path.read_bytes()


def _put(path: Path, octets: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(octets)


def _empty_lock(pyodide: Path) -> bytes:
    """Pyodide's list of its packages, without them: none is loaded by its name."""
    lock = json.loads((pyodide / "pyodide-lock.json").read_bytes())
    return json.dumps(lock | {"packages": {}}).encode()


def _named_licence(folder: Path) -> str:
    """The name of a package's licence, and where its source is."""
    package = json.loads((folder / "package.json").read_bytes())
    return f"{package['license']}. Source: {package['repository']['url']}, {package['version']}"


def _licences(downloads: Path) -> str:
    """The licences of all that the page has, each text once."""
    texts: dict[str, list[str]] = {}
    taken = (*_VENDOR.values(), *_FONTS.values())
    for name in sorted({path.partition("/node_modules")[0] for path in taken}):
        package = Path(*Path(name).parts[: 2 if name.startswith("@") else 1])
        folder = downloads / "node_modules" / package
        found = [file for file in sorted(folder.glob("*")) if _LICENCE.fullmatch(file.name)]
        for text in [file.read_text("utf-8") for file in found] or [_named_licence(folder)]:
            texts.setdefault(text, []).append(str(package))
    for wheel in sorted((downloads / "wheels").glob("*.whl")):
        with zipfile.ZipFile(wheel) as source:
            for name in sorted(source.namelist()):
                if ".dist-info/" in name and _LICENCE.fullmatch(name.rpartition("/")[2]):
                    text = source.read(name).decode("utf-8", "replace")
                    texts.setdefault(text, []).append(wheel.name.partition("-")[0])
    return "\n".join(
        f"{'=' * 78}\n{', '.join(dict.fromkeys(names))}\n{'=' * 78}\n{text.strip()}\n"
        for text, names in texts.items()
    )
