"""The objects that verbs take and make, as annotations."""

from typing import Annotated

from rdmalab.command import New, Noun, Thing

Pd = Annotated[Thing, Noun.PD]
Mr = Annotated[Thing, Noun.MR]
Cq = Annotated[Thing, Noun.CQ]
Qp = Annotated[Thing, Noun.QP]
Ah = Annotated[Thing, Noun.AH]
Srq = Annotated[Thing, Noun.SRQ]
Xrcd = Annotated[Thing, Noun.XRCD]
Mw = Annotated[Thing, Noun.MW]
Channel = Annotated[Thing, Noun.CHANNEL]
Td = Annotated[Thing, Noun.TD]
Flow = Annotated[Thing, Noun.FLOW]
Program = Annotated[Thing, Noun.PROGRAM]

NewPd = Annotated[New, Noun.PD]
NewMr = Annotated[New, Noun.MR]
NewCq = Annotated[New, Noun.CQ]
NewQp = Annotated[New, Noun.QP]
NewAh = Annotated[New, Noun.AH]
NewSrq = Annotated[New, Noun.SRQ]
NewXrcd = Annotated[New, Noun.XRCD]
NewMw = Annotated[New, Noun.MW]
NewChannel = Annotated[New, Noun.CHANNEL]
NewTd = Annotated[New, Noun.TD]
NewFlow = Annotated[New, Noun.FLOW]
NewProgram = Annotated[New, Noun.PROGRAM]
