"""The names that many families of checks need: each of them imports all of this module."""

from rdmalab.command import CallArguments, Noun, Ref, Thing
from rdmalab.doctor.case import *
from rdmalab.doctor.check import *
from rdmalab.doctor.evidence import messages, ownership, posting_calls
from rdmalab.doctor.evidence.content import octets_then, words_for
from rdmalab.doctor.evidence.made_good import left_refused
from rdmalab.doctor.evidence.messages import Piece, meet, piece_of
from rdmalab.doctor.evidence.subject import name_of
from rdmalab.doctor.facts import (
    conditions,
    delivery,
    key_lookup,
    memory_waits,
    receivers,
    thread_waits,
    undelivered,
)
from rdmalab.doctor.facts.bring_up import set_at, stays_unanswered
from rdmalab.doctor.facts.delivery import carried_out
from rdmalab.doctor.facts.thread_waits import EventWaiter, ThreadWait, thread_wait
from rdmalab.doctor.fixes import memory_fixes, recovery, reposting
from rdmalab.doctor.fixes.recovery import ordered
from rdmalab.doctor.fixes.reposting import posted_again
from rdmalab.hca.wr import SGE, Cqe, RecvWR, SendWR
from rdmalab.repair import commands
from rdmalab.repair.commands import reconnect, some_message
from rdmalab.spec import records as rec
from rdmalab.spec.access import Access
from rdmalab.spec.opcodes import ATOMIC_BYTES
from rdmalab.spec.programs import ProgramState
from rdmalab.spec.records import (
    Kind,
    Record,
    cqe_of,
    event_of,
    kind_of,
    node_of,
    object_of,
    packet_of,
    reason_of,
    roce_packet_of,
    send_wqe_of,
)
from rdmalab.spec.rules import errno_name
from rdmalab.spec.states import Attr, QPState, QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.views import fmt
from rdmalab.views.ladder import PacketRow
from rdmalab.wire.packet import Packet
from rdmalab.world.programs import programs_of
from rdmalab.world.relations import exists, find_qp, node_at, peer_node, peer_of
