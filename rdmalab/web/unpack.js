// What Python runs first in the page: unpack lab.bin (see compile.mjs) and import from it.
export const IMPORTS = `
import json
import os
import sys
from compression import zstd
`;

export const UNPACK = IMPORTS + `
def unpack(octets):
    whole = memoryview(zstd.decompress(octets))
    end = bytes(whole[:1 << 17]).index(b"\\n")
    at, made = end + 1, set()
    for name, size in json.loads(bytes(whole[:end])).items():
        path = "/lab/" + name
        folder = os.path.dirname(path)
        if folder not in made:
            os.makedirs(folder, exist_ok=True)
            made.add(folder)
        with open(path, "wb") as file:
            file.write(whole[at:at + size])
        at += size
    sys.path[:0] = ["/lab", "/lab/packages.zip"]

unpack(archive.to_bytes())
del archive
home = "/home/lab"
os.makedirs(home, exist_ok=True)
if not os.path.exists(home + "/scenarios"):
    os.symlink("/lab/scenarios", home + "/scenarios")
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
