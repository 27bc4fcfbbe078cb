// compile.mjs PYODIDE_DIR WORK_DIR: bytecode of Pyodide's own Python, in two archives.
// WORK_DIR has stdlib/, packages/ (imported from an archive) and files/ (unpacked by the page).
// Made: boot.zip, the modules that unpack.js needs, and lab.bin, all others: one zstd stream of
// a line of JSON (name → size), then the files. Measured on 2 cores: a page with sources had its
// first frame after 8 s, with bytecode after 3 to 4 s; one zstd stream is half of a zip.
import path from "node:path";
import { pathToFileURL } from "node:url";
import { IMPORTS } from "./unpack.js";

const [folder, work] = process.argv.slice(2).map((each) => path.resolve(each));
const { loadPyodide } = await import(pathToFileURL(path.join(folder, "pyodide.mjs")).href);
const python = await loadPyodide({
  indexURL: folder + path.sep,
  // Without column numbers a traceback has no carets and the bytecode is a fifth smaller.
  env: { PYTHONNODEBUGRANGES: "1", PYTHONHASHSEED: "0", HOME: "/" },
});
python.FS.mkdirTree("/work");
python.FS.mount(python.FS.filesystems.NODEFS, { root: work }, "/work");
python.runPython(IMPORTS);
python.runPython(String.raw`
import sys

LOADED = {name.partition(".")[0] for name in sys.modules}

import importlib.util
import io
import json
import zipfile
from compression import zstd
from importlib._bootstrap_external import _code_to_hash_pyc
from pathlib import Path

WORK = Path("/work")
LAB = "/lab/"  # where the page has the files
CODECS = {
    "__init__", "aliases", "ascii", "base64_codec", "charmap", "cp437", "hex_codec", "idna",
    "latin_1", "punycode", "raw_unicode_escape", "unicode_escape", "utf_16", "utf_16_be",
    "utf_16_le", "utf_32", "utf_8", "utf_8_sig",
}
LEVEL = {
    zstd.CompressionParameter.compression_level: 19,
    zstd.CompressionParameter.window_log: 25,
}


def compiled(name: str, source: bytes) -> tuple[str, bytes]:
    """Bytecode that is loaded unchecked, without docstrings but those of commands: their help."""
    optimize = 0 if name.startswith(("rdmalab/verbs/", "rdmalab/workbench/")) else 2
    code = compile(source, LAB + name, "exec", dont_inherit=True, optimize=optimize)
    return name + "c", _code_to_hash_pyc(code, importlib.util.source_hash(source), False)


def folder(name: str) -> dict[str, bytes]:
    """The files of a folder, modules as bytecode."""
    found = {}
    for path in sorted((WORK / name).rglob("*")):
        if path.is_file():
            inside, octets = path.relative_to(WORK / name).as_posix(), path.read_bytes()
            if inside.endswith(".py"):
                inside, octets = compiled(inside, octets)
            found[inside] = octets
    return found


def archive(files: dict[str, bytes], how: int) -> bytes:
    """A zip file; the same files make the same bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", how, compresslevel=9) as into:
        for name in sorted(files):
            into.writestr(zipfile.ZipInfo(name), files[name], how)
    return stream.getvalue()


def is_boot(name: str) -> bool:
    """Whether a file of the standard library belongs to a module or package that is loaded."""
    first, _, rest = name.partition("/")
    if first == "encodings":
        return rest.removesuffix(".pyc") in CODECS
    return first.removesuffix(".pyc") in LOADED


def main() -> None:
    """Write boot.zip and lab.bin."""
    stdlib = folder("stdlib")
    boot = {name: octets for name, octets in stdlib.items() if is_boot(name)}
    rest = {
        name: octets for name, octets in stdlib.items()
        if name not in boot and not name.startswith("encodings/")
    }
    (WORK / "boot.zip").write_bytes(archive(boot, zipfile.ZIP_DEFLATED))
    packages = archive(rest | folder("packages"), zipfile.ZIP_STORED)
    files = {"packages.zip": packages} | folder("files")
    index = json.dumps({name: len(octets) for name, octets in files.items()}, separators=(",", ":"))
    whole = index.encode() + b"\n" + b"".join(files.values())
    (WORK / "lab.bin").write_bytes(zstd.compress(whole, options=LEVEL))


main()
`);
