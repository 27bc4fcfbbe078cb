"""Enum members that no device of the lab implements, each with the reason.

Some members are needed by name although no engine uses them. A test fails when an engine starts to
use a member that is listed here.
"""

from enum import Enum
from typing import Any

from rdmalab.spec.access import Access
from rdmalab.spec.async_events import AsyncEvent
from rdmalab.spec.builders import InitMask
from rdmalab.spec.c_library import REFUSED
from rdmalab.spec.completions import WcEx
from rdmalab.spec.limits import AtomicCap, DeviceCap, LinkLayer, PhysState, PortState
from rdmalab.spec.opcodes import Service
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.srq import SrqType
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WCOpcode, WROpcode


def _refused(function: str) -> str:
    """The reason why the library of the lab refuses a function."""
    return REFUSED[f"ibv_{function}"].reason


_SM = "InfiniBand only, by a subnet manager: there is none, the ports keep their LIDs"
_RD = "reliable datagram, which no device has ever implemented"
_TM = _refused("post_srq_ops")
_RSS = _refused("create_wq")
_VENDOR = "reserved for a vendor, without a defined meaning"

_S, _E, _W = WCStatus, AsyncEvent, WCOpcode

REASONS: dict[type[Enum], dict[Any, str]] = {
    Service: {Service.RD: _RD, Service.CNP: "congestion control is not emulated"},
    WROpcode: {WROpcode.DRIVER1: _VENDOR},
    WCOpcode: {
        **dict.fromkeys((_W.TM_ADD, _W.TM_DEL, _W.TM_SYNC, _W.TM_RECV, _W.TM_NO_TAG), _TM),
        **dict.fromkeys((_W.DRIVER1, _W.DRIVER2, _W.DRIVER3), _VENDOR),
    },
    WCStatus: {
        **dict.fromkeys(
            (_S.LOC_EEC_OP_ERR, _S.LOC_RDD_VIOL_ERR, _S.REM_INV_RD_REQ_ERR, _S.INV_EECN_ERR), _RD
        ),
        _S.INV_EEC_STATE_ERR: _RD,
        _S.LOC_ACCESS_ERR: "strict and rxe check the R_Key before they take a receive",
        _S.REM_ABORT_ERR: "no verb cancels an operation",
        _S.FATAL_ERR: "strict and mlx5 end a request with BAD_RESP_ERR where rxe gives this status",
        _S.RESP_TIMEOUT_ERR: "a timeout ends in RETRY_EXC_ERR",
        _S.GENERAL_ERR: "each error of the lab has its own status",
        _S.TM_ERR: _TM,
        _S.TM_RNDV_INCOMPLETE: _TM,
    },
    Syndrome: {Syndrome.NAK_INVALID_RD_REQUEST: _RD},
    AsyncEvent: {
        _E.LID_CHANGE: _SM,
        _E.SM_CHANGE: _SM,
        _E.CLIENT_REREGISTER: _SM,
        _E.WQ_FATAL: "work queue objects (ibv_create_wq) are not emulated",
    },
    Access: {
        Access.ON_DEMAND: "each device refuses it: memory is always there, no page fault is emulated",
        Access.HUGETLB: "each device refuses it: memory here has no pages of its own",
        Access.RELAXED_ORDERING: "optional: the flag is ignored, there is no bus that reorders accesses",
    },
    PortState: {PortState.NOP: "no state: in a change of a port it means `leave unchanged`"},
    PhysState: dict.fromkeys((PhysState.SLEEP, PhysState.TRAINING), "a link is up or down at once"),
    AtomicCap: {
        AtomicCap.NONE: "atomics are emulated",
        AtomicCap.GLOB: "each node has one adapter, atomicity across adapters cannot be shown",
    },
    DeviceCap: {
        DeviceCap.RESIZE_MAX_WR: "a queue keeps the size it was created with",
        DeviceCap.RAW_MULTI: "raw datagrams of InfiniBand, long obsolete",
        DeviceCap.CURR_QP_STATE_MOD: "no driver sets this flag, whether the device supports it or not",
        DeviceCap.SHUTDOWN_PORT: "a link goes down by `link down`, not by a verb",
        DeviceCap.INIT_TYPE: _SM,
        DeviceCap.N_NOTIFY_CQ: "no verb arms a queue for the n-th completion",
        DeviceCap.MEM_WINDOW_TYPE_2A: "type 2 windows are of kind 2B: bound to one queue pair",
        DeviceCap.RC_IP_CSUM: "a connection carries no IP packets of the program's own",
    },
    SrqType: {SrqType.TM: _TM},
    InitMask: {InitMask.IND_TABLE: _RSS, InitMask.RX_HASH: _RSS},
    WcEx: {
        WcEx.CVLAN: _refused("wc_read_cvlan"),
        WcEx.FLOW_TAG: _refused("wc_read_flow_tag"),
        WcEx.TM_INFO: _TM,
    },
    LinkLayer: {LinkLayer.UNSPECIFIED: "every port of the lab supports it"},
}

VERBS: dict[str, str] = {
    "create_wq": "work queue objects serve receive side scaling, which is not emulated",
    "create_rwq_ind_table": _RSS,
    "alloc_dm": "there is no memory on the device",
    "reg_dmabuf_mr": _refused("reg_dmabuf_mr"),
    "advise_mr": _refused("advise_mr"),
    "create_counters": "`show counters` counts everything",
    "modify_qp_rate_limit": _refused("modify_qp_rate_limit"),
    "query_rt_values_ex": "the device has no clock of its own, use the virtual time: expr `now`",
    "import_device": "a node is one process",
    "fork_init": "a node never forks",
    "query_ece": "the two ends of a connection negotiate no vendor options",
}

FAMILIES: dict[str, str] = {
    "RoCEv1": "Ethernet without IP, which nothing new uses",
    "iWARP": "another protocol under the same verbs: no UD, no atomics, no Q_Keys",
}


def not_emulated(name: str) -> str:
    """The reason a verb that exists is not emulated; empty if it is, or if none has this name."""
    plain = name.strip().casefold().removeprefix("ibv_")
    refused = REFUSED.get(f"ibv_{plain}")
    return VERBS.get(plain) or (refused.reason if refused is not None else "")
