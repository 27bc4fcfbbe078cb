"""Devices, flow rules, and the memory of the program."""

from collections.abc import Callable

from rdmalab.command import Region
from rdmalab.export.c.text import TAB, Scope, Text, Verb, structure
from rdmalab.export.replay.calls import NotExportable
from rdmalab.export.replay.names import constant, string_lines, variable


def _query(called: str, answer: str, returns: str = "errno") -> Callable[[Scope], Text]:
    """A query of a device. answer: the declaration of what it fills."""

    def handler(s: Scope) -> Text:
        port, node = s.argument("port_num"), variable(s.argument("device").node)
        words = called.format(node, port=1 if port is None else port, index=s.argument("index"))
        return Text(f"ibv_{s.call.word}", f"ibv_{s.call.word}({words})", [answer], returns=returns)

    return handler


_ETH = "ibv_flow_spec_eth"


def _create_flow(s: Scope) -> Text:
    new, attr, spec = s.argument("flow"), s.argument("attr"), s.argument("spec")
    given = spec.given() if spec is not None else {}
    if set(given) - {"dst_mac", "src_mac", "ether_type"}:
        raise NotExportable("create_flow with fields of IP, TCP or UDP")
    members = [f".attr.type = {constant(attr.type)}"] if attr and attr.type else []
    members.append(f".attr.size = sizeof(rule){'' if given else ' - sizeof(rule.eth)'}")
    members += [f".attr.priority = {attr.priority}"] if attr and attr.priority else []
    members.append(f".attr.num_of_specs = {int(bool(given))}")
    members.append(f".attr.port = {attr.port if attr else 1}")
    if attr and attr.flags:
        members.append(f".attr.flags = {constant(attr.flags)}")
    if given:
        members += [".eth.type = IBV_FLOW_SPEC_ETH", f".eth.size = sizeof(struct {_ETH})"]
    for name, value in given.items():
        if name == "ether_type":
            members.append(f".eth.val.ether_type = htons({value:#x})")
            members.append(".eth.mask.ether_type = 0xffff")
            continue
        octets = ", ".join(f"{octet:#04x}" for octet in value.to_bytes(6, "big"))
        members.append(f".eth.val.{name} = {{ {octets} }}")
        members.append(f".eth.mask.{name} = {{ 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }}")
    s.writer.needs.add("flow")
    lines = structure("flow_rule", "rule", members)
    called = f"ibv_create_flow({s.var(s.argument('qp'))}, &rule.attr)"
    return Text("ibv_create_flow", called, lines, s.var(new))


def _at(s: Scope, region: Region) -> tuple[str, int, int]:
    """Address of the bytes of a region, as `char *`; its start, and its stop."""
    mr = s.world.nodes[region.thing.node].mrs.items.get(region.thing.number)
    if mr is None:
        raise NotExportable("memory of a region that is no more")
    start = region.start or 0
    stop = mr.length if region.stop is None else region.stop
    name = s.var(region.thing)
    base = f"(char *){name}->addr"
    return (f"{base} + {start}" if start else base), start, stop


def _write(s: Scope) -> Text | None:
    where, _, _ = _at(s, s.argument("where"))
    return _copied(where, s.argument("text").encode("latin-1", "replace"))


def _copied(where: str, octets: bytes) -> Text | None:
    if not octets:
        return None
    literals = string_lines(octets)
    if len(literals) == 1:
        return Text("", f"memcpy({where}, {literals[0]}, {len(octets)})", returns="nothing")
    given = [
        "static const char octets[] =",
        *(TAB + each for each in literals[:-1]),
        f"{TAB}{literals[-1]};",
    ]
    return Text("", f"memcpy({where}, octets, {len(octets)})", given, returns="nothing")


def _fill(s: Scope) -> Text | None:
    where, start, stop = _at(s, s.argument("where"))
    byte = s.argument("byte") or 0
    if stop <= start:
        return None
    return Text("", f"memset({where}, {byte:#04x}, {stop - start})", returns="nothing")


def _poke(s: Scope) -> Text | None:
    return _copied(
        f"(void *){s.argument('addr'):#x}", s.argument("text").encode("latin-1", "replace")
    )


def _map_memory(s: Scope) -> None:
    s.writer.ranges.append((s.argument("addr"), s.argument("length")))


VERBS: dict[str, Verb] = {
    "create_flow": Verb(_create_flow),
    "query_device": Verb(_query("{}, &attr", "struct ibv_device_attr attr;")),
    "query_device_ex": Verb(_query("{}, NULL, &attr", "struct ibv_device_attr_ex attr;")),
    "query_port": Verb(_query("{}, {port}, &attr", "struct ibv_port_attr attr;")),
    "query_gid": Verb(_query("{}, {port}, {index}, &gid", "union ibv_gid gid;", "-1")),
    "query_pkey": Verb(_query("{}, {port}, {index}, &pkey", "__be16 pkey;", "-1")),
    "write": Verb(_write),
    "fill": Verb(_fill),
    "poke": Verb(_poke),
    "map_memory": Verb(_map_memory),
}
