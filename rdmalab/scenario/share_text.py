"""A session as one word to be pasted anywhere: the saved scenario, compressed, with a checksum.

`rdmalab:1:` and base64url of the CRC-32 of the text and the text itself, deflated with WORDS known
on both sides. White space in between is what a chat or a mail has put there.
"""

import base64
import binascii
import re
import zlib

from rdmalab.scenario.yaml_tree import MAX_OCTETS

FORMAT = 1
LONGEST = 2 * MAX_OCTETS
"""Characters: what does not compress at all is still shorter."""
HEAD = "rdmalab"
_SHAPE = re.compile(r"rdmalab:([1-9][0-9]{0,8}):([A-Za-z0-9_-]*)", re.ASCII)
_CRC_OCTETS = 4
_WINDOW = -15  # a raw stream, for the checksum is our own

# What sessions are full of. Part of format 1: a text shared today is read with it for ever.
WORDS = b"""\
    expect:
      - .srq0.count == .qp0.state == ERR .sq.used == .cq0.count == .cqes[0].wr_id == WR_FLUSH_ERR
    wire:
      - A->B FRAME len= UD_SEND_ONLY dest_qp=B.qp0 psn= qkey=0x11111111
      - A->B RDMA_WRITE_ONLY dest_qp=B.qp0 psn= len= ack_req=1 va=0x20000000 rkey=0x dma_length=
      - A->B RDMA_READ_REQUEST psn= RDMA_READ_RESPONSE_FIRST MIDDLE LAST ONLY SEND_FIRST SEND_MIDDLE
      - A->B SEND_ONLY dest_qp=B.qp0 psn=0 len=64 ack_req=1 lost
      - B->A ACKNOWLEDGE dest_qp=A.qp0 psn=0 syndrome=RNR_NAK timer=12 msn=1
  - create_ah A.ah0 pd=A.pd0 to=B
  - create_srq B.srq0 pd=B.pd0 max_wr=8
  - post_srq_recv B.srq0 wr_id=1 sg=B.mr0[0:64]
  - destroy_qp A.qp0
  - do: modify_qp A.qp0 qp_state=RESET ERR SQD
    errno: EINVAL ENOMEM EBUSY
  - link latency= rate= mtu=
  - create_comp_channel A.ch0
  - req_notify_cq A.cq0 solicited_only=0
  - write A.mr0[0:5] "hello"
  - fault drop A->B nth=1
  - fault corrupt B->A opcode=ACKNOWLEDGE nth=1 byte=60
  - post_send A.qp0 opcode=ATOMIC_FETCH_AND_ADD ATOMIC_CMP_AND_SWP sg=A.mr0[0:8] remote=B.mr0
  - post_send A.qp0 opcode=RDMA_READ sg=A.mr0[0:64] remote=B.mr0[0] rkey=0xdead flags=SIGNALED
  - post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:64] remote=B.mr0[0] remote_addr=0x flags=SIGNALED
  - modify_qp A.qp0 qp_state=RTR
  - modify_qp A.qp0 qp_state=INIT pkey_index=0 port_num=1 qkey=286331153 ah=A.ah0 remote_qpn=B.qp0
rdmalab: 1
title: shared
seed: 0
nodes:
  A: {profile: rxe}
  B: {profile: mlx5}
  A: {profile: strict}
  B: {profile: strict}

steps:
  - note: What shared did, word by word; a walk halts where time passed.
  - alloc_pd A.pd0
  - reg_mr A.mr0 pd=A.pd0 length=4096 access=LOCAL_WRITE|REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC
  - create_cq A.cq0 cqe=16
  - create_qp A.qp0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 max_send_wr=8 max_recv_wr=8\
 max_inline_data=64 sq_sig_all=0
  - alloc_pd B.pd0
  - reg_mr B.mr0 pd=B.pd0 length=4096 access=LOCAL_WRITE|REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC
  - create_cq B.cq0 cqe=16
  - create_qp B.qp0 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0 max_send_wr=8 max_recv_wr=8\
 max_inline_data=64 sq_sig_all=0
  - modify_qp A.qp0 qp_state=INIT pkey_index=0 port_num=1\
 qp_access_flags=REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC
  - modify_qp B.qp0 qp_state=INIT pkey_index=0 port_num=1\
 qp_access_flags=REMOTE_WRITE|REMOTE_READ|REMOTE_ATOMIC
  - modify_qp A.qp0 qp_state=RTR path_mtu=512 dest_qp_num=B.qp0 rq_psn=0 max_dest_rd_atomic=1\
 min_rnr_timer=12 ah=B
  - modify_qp B.qp0 qp_state=RTR path_mtu=512 dest_qp_num=A.qp0 rq_psn=0 max_dest_rd_atomic=1\
 min_rnr_timer=12 ah=A
  - modify_qp A.qp0 qp_state=RTS timeout=14 retry_cnt=7 rnr_retry=7 sq_psn=0 max_rd_atomic=1
  - modify_qp B.qp0 qp_state=RTS timeout=14 retry_cnt=7 rnr_retry=7 sq_psn=0 max_rd_atomic=1
  - post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]
  - post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED
  - run: 100us
  - poll_cq A.cq0 num_entries=4
  - run: step 1
    name: what happened on the wire and in the adapters
"""


class Damaged(Exception):  # noqa: N818  (it says what the text is)
    """A text that is no shared session, or not all of one."""


def shared(scenario: str) -> str:
    """One word without blanks; `scenario_of` is its other direction."""
    text = scenario.encode()
    deflate = zlib.compressobj(9, zlib.DEFLATED, _WINDOW, 9, zlib.Z_DEFAULT_STRATEGY, WORDS)
    octets = _checksum(text) + deflate.compress(text) + deflate.flush()
    return f"{HEAD}:{FORMAT}:{_letters(octets)}"


def scenario_of(word: str) -> str:
    """The text of the scenario that was shared; Damaged says why there is none."""
    found = _SHAPE.fullmatch("".join(word[:LONGEST].split()))
    if found is None:
        raise Damaged(_misshapen(word))
    if int(found[1]) != FORMAT:
        raise Damaged(f"it was shared by another rdmalab: format {int(found[1])}, not {FORMAT}")
    try:
        octets = base64.urlsafe_b64decode(found[2] + "=" * (-len(found[2]) % 4))
        text = _inflated(octets[_CRC_OCTETS:])
    except (binascii.Error, zlib.error):
        raise Damaged(_DAMAGED) from None
    if octets[:_CRC_OCTETS] != _checksum(text) or _letters(octets) != found[2]:
        raise Damaged(_DAMAGED)
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise Damaged(_DAMAGED) from None


_DAMAGED = "it is damaged, or not all of it is here"


def _misshapen(word: str) -> str:
    if word.split()[:1] and word.split()[0].startswith(f"{HEAD}:"):
        return _DAMAGED
    return f"a shared session begins with {HEAD}:{FORMAT}:"


def _inflated(octets: bytes) -> bytes:
    """Not one byte more than a scenario may have, whatever the stream would become."""
    inflate = zlib.decompressobj(_WINDOW, WORDS)
    text = inflate.decompress(octets, MAX_OCTETS + 1)
    if len(text) > MAX_OCTETS:
        raise Damaged(f"it is too large: a scenario has at most {MAX_OCTETS:,} bytes")
    if not inflate.eof or inflate.unused_data:
        raise Damaged(_DAMAGED)
    return text


def _checksum(text: bytes) -> bytes:
    return zlib.crc32(text).to_bytes(_CRC_OCTETS, "big")


def _letters(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).decode().rstrip("=")
