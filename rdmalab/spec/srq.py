"""Shared receive queues and XRC domains: their types, their attributes, how a domain is opened."""

from enum import IntEnum, IntFlag


class SrqType(IntEnum):
    """IBV_SRQT_*."""

    BASIC = 0
    XRC = 1
    TM = 2


class SrqAttrMask(IntFlag):
    """IBV_SRQ_*, the fields that `modify_srq` can change."""

    MAX_WR = 1
    LIMIT = 2


class OpenFlag(IntFlag):
    """The flags of open(2) that `open_xrcd` takes."""

    O_CREAT = 0o100
    O_EXCL = 0o200


# What each bit of the mask changes; max_sge is fixed at creation.
SRQ_FIELDS: dict[SrqAttrMask, str] = {SrqAttrMask.MAX_WR: "max_wr", SrqAttrMask.LIMIT: "srq_limit"}

PRIVATE = -1  # the file descriptor of a domain that no other process can open
