"""Devices, and the memory of the program."""

from collections.abc import Callable

from rdmalab.command import Region
from rdmalab.export.pyverbs.text import Lines, Scope, Verb
from rdmalab.export.replay.calls import NotExportable
from rdmalab.export.replay.names import variable


def _device(text: str) -> Callable[[Scope], Lines]:
    def handler(s: Scope) -> Lines:
        port, index = s.argument("port_num"), s.argument("index")
        node = variable(s.argument("device").node)
        return Lines(f"{node}.{text.format(port=1 if port is None else port, index=index)}")

    return handler


def _range(s: Scope, region: Region) -> tuple[str, int, int]:
    mr = s.world.nodes[region.thing.node].mrs.items.get(region.thing.number)
    if mr is None:
        raise NotExportable("memory of a region that is no more")
    start = region.start or 0
    return s.var(region.thing), start, mr.length if region.stop is None else region.stop


def _write(s: Scope) -> Lines | None:
    name, start, _ = _range(s, s.argument("where"))
    octets = s.argument("text").encode("latin-1", "replace")
    if not octets:
        return None
    return Lines(f"{name}.write({octets!r}, {len(octets)}{f', {start}' if start else ''})")


def _fill(s: Scope) -> Lines | None:
    name, start, stop = _range(s, s.argument("where"))
    if stop <= start:
        return None
    octets = f"bytes([{s.argument('byte') or 0:#04x}]) * {stop - start}"
    return Lines(f"{name}.write({octets}, {stop - start}{f', {start}' if start else ''})")


VERBS: dict[str, Verb] = {
    "query_device": Verb(_device("query_device()")),
    "query_device_ex": Verb(_device("query_device_ex()")),
    "query_port": Verb(_device("query_port({port})")),
    "query_gid": Verb(_device("query_gid({port}, {index})")),
    "query_pkey": Verb(_device("query_pkey({port}, {index})")),
    "write": Verb(_write),
    "fill": Verb(_fill),
}
