// What Python runs first in the page: unpack lab.bin (see compile.mjs) and import from it.
export const IMPORTS = `
import io
import json
import os
import sys
from compression import zstd
`;

export const UNPACK = IMPORTS + `
def unpack(octets):
    made = set()
    with zstd.ZstdFile(io.BytesIO(octets)) as stream:  # memory only grows, and snapshots have all
        for name, size in json.loads(stream.readline()).items():
            path = "/lab/" + name
            folder = os.path.dirname(path)
            if folder not in made:
                os.makedirs(folder, exist_ok=True)
                made.add(folder)
            with open(path, "wb") as file:
                file.write(stream.read(size))

unpack(archive.to_bytes())
del archive
if "/lab" not in sys.path:
    sys.path[:0] = ["/lab", "/lab/packages.zip"]
home = "/home/lab"
os.makedirs(home, exist_ok=True)
if not os.path.exists(home + "/scenarios"):
    os.symlink("/lab/scenarios", home + "/scenarios")
`;

// What the first frame needs; not what has native modules, which no snapshot of the memory can have.
export const IMPORT = `
import rdmalab.lab
import rdmalab.page.begin
import rdmalab.page.loop
import rdmalab.shell.prompt_setup
import rdmalab.tui.app_model
import rdmalab.tui.launch
import rdmalab.tui.screens.main
`;

// After the memory of an earlier start was restored: each start draws numbers of its own.
export const AGAIN = `
import random
random.seed()
`;

export const BEGIN = `
import asyncio
import pathlib
from rdmalab.page.loop import complete
complete(asyncio.get_running_loop())
from rdmalab.page.begin import Page, PageProcess
from rdmalab.page.state_files import KeptFile
kept = {
    name: KeptFile(files.get(name).octets.to_bytes(), int(files.get(name).changed))
    for name in files.keys()
}
process = PageProcess(pathlib.Path(home), Page(address, tab), post, lambda: size().to_py(), kept)
`;
