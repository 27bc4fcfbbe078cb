"""What no device of the lab does, and why: read where an engine gives no sign that it does it.

A member that an engine comes to do needs no change here: its reason is not asked for any more.
"""

from enum import Enum
from typing import Any

from rdmalab.spec.access import Access
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.limits import LinkLayer, PhysState, PortState
from rdmalab.spec.opcodes import Service
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.states import MigState, QPType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import SendFlags, WCFlags, WCOpcode, WROpcode

_IB = "InfiniBand only: the lab's ports are Ethernet"
_APM = "automatic path migration exists on InfiniBand ports only"
_RD = "reliable datagram, which no device ever offered"
_TM = "tag matching is not emulated"
_VENDOR = "a vendor's own, without a meaning of its own"
_WINDOW = "memory windows are not emulated"
_FLUSH = "FLUSH is not emulated"
_RAW = "raw Ethernet frames are not emulated"
_XRC = "XRC domains are not emulated"
_SRQ = "shared receive queues are not emulated"
_HOST = "the memory of the lab has no such property"

_S, _E, _W = WCStatus, AsyncEvent, WCOpcode

REASONS: dict[type[Enum], dict[Any, str]] = {
    QPType: {QPType.RAW_PACKET: _RAW, QPType.XRC_SEND: _XRC, QPType.XRC_RECV: _XRC},
    Service: {Service.RD: _RD, Service.CNP: "congestion control is not emulated"},
    WROpcode: {
        WROpcode.LOCAL_INV: _WINDOW,
        WROpcode.BIND_MW: _WINDOW,
        WROpcode.SEND_WITH_INV: _WINDOW,
        WROpcode.TSO: _RAW,
        WROpcode.DRIVER1: _VENDOR,
        WROpcode.FLUSH: _FLUSH,
        WROpcode.ATOMIC_WRITE: "ATOMIC_WRITE is not emulated",
    },
    SendFlags: {SendFlags.IP_CSUM: "packets have no checksum to fill in"},
    WCOpcode: {
        _W.BIND_MW: _WINDOW,
        _W.LOCAL_INV: _WINDOW,
        _W.TSO: _RAW,
        _W.FLUSH: _FLUSH,
        _W.ATOMIC_WRITE: "ATOMIC_WRITE is not emulated",
        **dict.fromkeys((_W.TM_ADD, _W.TM_DEL, _W.TM_SYNC, _W.TM_RECV, _W.TM_NO_TAG), _TM),
        **dict.fromkeys((_W.DRIVER1, _W.DRIVER2, _W.DRIVER3), _VENDOR),
    },
    WCFlags: {WCFlags.WITH_INV: _WINDOW, WCFlags.IP_CSUM_OK: _RAW},
    WCStatus: {
        **dict.fromkeys(
            (_S.LOC_EEC_OP_ERR, _S.LOC_RDD_VIOL_ERR, _S.REM_INV_RD_REQ_ERR, _S.INV_EECN_ERR), _RD
        ),
        _S.INV_EEC_STATE_ERR: _RD,
        _S.MW_BIND_ERR: _WINDOW,
        _S.LOC_ACCESS_ERR: "a UC receiver drops such a message in silence",
        _S.REM_ABORT_ERR: "an operation is never cancelled from outside",
        _S.FATAL_ERR: "a dead device completes nothing; DEVICE_FATAL is the sign",
        _S.RESP_TIMEOUT_ERR: "a time-out ends in RETRY_EXC_ERR",
        _S.GENERAL_ERR: "every error of the lab has a status of its own",
        _S.TM_ERR: _TM,
        _S.TM_RNDV_INCOMPLETE: _TM,
    },
    Syndrome: {Syndrome.NAK_INVALID_RD_REQUEST: _RD},
    AsyncEvent: {
        _E.PATH_MIG: _APM,
        _E.PATH_MIG_ERR: _APM,
        _E.LID_CHANGE: _IB,
        _E.SM_CHANGE: _IB,
        _E.CLIENT_REREGISTER: _IB,
        _E.WQ_FATAL: "work queue objects (ibv_create_wq) are not emulated",
        _E.SRQ_ERR: _SRQ,
        _E.SRQ_LIMIT_REACHED: _SRQ,
        _E.QP_LAST_WQE_REACHED: _SRQ,
        _E.QP_ACCESS_ERR: "no check of this device raises it",
        _E.QP_REQ_ERR: "no check of this device raises it",
    },
    Access: {
        Access.MW_BIND: _WINDOW,
        Access.ZERO_BASED: "accepted; addresses are those of the buffer all the same",
        Access.ON_DEMAND: "all memory is pinned: a page fault has no cost to show",
        Access.HUGETLB: _HOST,
        Access.FLUSH_GLOBAL: _FLUSH,
        Access.FLUSH_PERSISTENT: _FLUSH,
        Access.RELAXED_ORDERING: "optional, so it is dropped: there is no bus to reorder",
    },
    MigState: {MigState.REARM: _APM, MigState.ARMED: _APM},
    PortState: {PortState.NOP: "no state: it means `as it was` when a port is told to change"},
    PhysState: dict.fromkeys(
        (PhysState.SLEEP, PhysState.POLLING, PhysState.TRAINING), "a link is up or down at once"
    ),
    LinkLayer: {LinkLayer.UNSPECIFIED: "every port of the lab knows it", LinkLayer.INFINIBAND: _IB},
}

VERBS: dict[str, str] = {
    "alloc_mw": _WINDOW,
    "bind_mw": _WINDOW,
    "create_srq": _SRQ,
    "open_xrcd": _XRC,
    "create_flow": _RAW,
    "create_comp_channel": "completion channels are not emulated",
    "req_notify_cq": "completion channels are not emulated",
    "get_async_event": "`show events` lists what is waiting",
    "resize_cq": "not emulated",
    "rereg_mr": "not emulated",
    "wr_start": "the ibv_wr_* calls are not emulated; post_send does the same work",
    "alloc_td": "a thread domain only saves locks, and there is one thread",
    "create_wq": "work queue objects serve receive side scaling, which is not emulated",
    "create_rwq_ind_table": "receive side scaling is not emulated",
    "alloc_dm": "there is no memory on the device",
    "reg_dmabuf_mr": "there is no other device to share memory with",
    "advise_mr": "pages are never paged",
    "create_counters": "`show counters` counts everything",
    "modify_qp_rate_limit": "the link's rate is the only one: link rate=25Gbps",
    "query_rt_values_ex": "the device has no clock but the lab's: expr `now`",
    "import_device": "a node is one process",
    "fork_init": "a node never forks",
    "query_ece": "the ends of a connection have no vendor's options to agree on",
}

FAMILIES: dict[str, str] = {
    "RoCEv1": "Ethernet without IP, which nothing new uses",
    "InfiniBand (LRH)": _IB,
    "iWARP": "another protocol under the same verbs: no UD, no atomics, no Q_Keys",
}
