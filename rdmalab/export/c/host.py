"""Devices, flow rules, and the memory of the program."""

from rdmalab.export.c.text import TAB, Scope, Text, plain, structure
from rdmalab.export.replay import structs
from rdmalab.export.replay.calls import NotExportable
from rdmalab.export.replay.names import constant, string_lines
from rdmalab.export.replay.program import Verb

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
    return Text(f"ibv_create_flow({s.var(s.argument('qp'))}, &rule.attr)", lines, s.var(new))


def _place(piece: structs.Piece) -> str:
    """The address of its first byte, as `char *`."""
    base = f"(char *){piece.name}->addr"
    return f"{base} + {piece.start}" if piece.start else base


def _write(s: Scope) -> Text | None:
    return _copied(_place(structs.piece_of(s, s.argument("where"))), structs.octets_of(s))


def _copied(where: str, octets: bytes) -> Text | None:
    if not octets:
        return None
    literals = string_lines(octets)
    if len(literals) == 1:
        return Text(f"memcpy({where}, {literals[0]}, {len(octets)})", returns="nothing")
    given = [
        "static const char octets[] =",
        *(TAB + each for each in literals[:-1]),
        f"{TAB}{literals[-1]};",
    ]
    return Text(f"memcpy({where}, octets, {len(octets)})", given, returns="nothing")


def _fill(s: Scope) -> Text | None:
    piece, byte = structs.piece_of(s, s.argument("where")), s.argument("byte") or 0
    length = piece.stop - piece.start
    if length <= 0:
        return None
    return Text(f"memset({_place(piece)}, {byte:#04x}, {length})", returns="nothing")


def _poke(s: Scope) -> Text | None:
    return _copied(f"(void *){s.argument('addr'):#x}", structs.octets_of(s))


def _map_memory(s: Scope) -> None:
    s.writer.ranges.append((s.argument("addr"), s.argument("length")))


def _entry(table: str, given: str) -> Verb[Scope, Text]:
    called = f"ibv_query_{table}({{node}}, {{port_num}}, {{index}}, &{table})"
    return plain(called, given, returns="-1", port_num=1)


VERBS: dict[str, Verb[Scope, Text]] = {
    "create_flow": Verb(_create_flow),
    "query_device": plain("ibv_query_device({node}, &attr)", "struct ibv_device_attr attr;"),
    "query_device_ex": plain(
        "ibv_query_device_ex({node}, NULL, &attr)", "struct ibv_device_attr_ex attr;"
    ),
    "query_port": plain(
        "ibv_query_port({node}, {port_num}, &attr)", "struct ibv_port_attr attr;", port_num=1
    ),
    "query_gid": _entry("gid", "union ibv_gid gid;"),
    "query_gid_ex": plain(
        "ibv_query_gid_ex({node}, {port_num}, {index}, &entry, 0)",
        "struct ibv_gid_entry entry;",
        port_num=1,
    ),
    "query_pkey": _entry("pkey", "__be16 pkey;"),
    "write": Verb(_write),
    "fill": Verb(_fill),
    "poke": Verb(_poke),
    "map_memory": Verb(_map_memory),
}
