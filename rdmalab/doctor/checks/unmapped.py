"""unmapped: what was to be registered is not memory of the process, or not all of it."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes.rephrase_call import arguments, otherwise
from rdmalab.hca.memory import Buffer

_VERBS = ("reg_mr", "reg_mr_iova", "rereg_mr")


def examine(case: Case) -> Finding:
    """Of a refused registration, how far the memory behind its address reaches."""
    call = case.call
    if call is None or call.verb not in _VERBS:
        return NA
    if call.refusal != "mr-unmapped":
        return ok("all of it is memory of the process")
    given = arguments(case, _VERBS)
    addr, length = given.get("addr"), given.get("length")
    if addr is None or length is None:
        return fail(said(f"{call.verb}: {call.message}", call.event))
    evidence = [said(f"{call.verb} was told {length:,} bytes from {addr:#x}", call.event)]
    buffer = _around(case, addr)
    if buffer is None:
        evidence.append(said(f"nothing at all is mapped at {addr:#x}"))
        return fail(*evidence, cure=Fix(program="register memory that the process has"))
    left = buffer.addr + buffer.length - addr
    evidence.append(
        said(f"the buffer there has {buffer.length:,} bytes from {buffer.addr:#x}: {left:,} from "
             f"{addr:#x} on")
    )  # fmt: skip
    return fail(*evidence, cure=Fix(otherwise(case, {"length": left})))


def _around(case: Case, addr: int) -> Buffer | None:
    """The buffer in which an address lies."""
    buffers = case.hca.memory.buffers
    return next((b for b in buffers if b.addr <= addr < b.addr + b.length), None)


CHECK = Check(
    106, "unmapped", Section.LOCAL,
    question="Does the range to be registered leave the memory of the process?",
    rule="every page from addr to addr+length must be mapped: who moves the start shortens the "
         "length",
    source="assise-26", examine=examine,
)  # fmt: skip
