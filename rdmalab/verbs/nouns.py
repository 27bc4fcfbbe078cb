"""The objects that verbs take and make, as annotations."""

from typing import Annotated

from rdmalab.command import New, Noun, Thing

Pd = Annotated[Thing, Noun.PD]
Mr = Annotated[Thing, Noun.MR]
Cq = Annotated[Thing, Noun.CQ]
Qp = Annotated[Thing, Noun.QP]

NewPd = Annotated[New, Noun.PD]
NewMr = Annotated[New, Noun.MR]
NewCq = Annotated[New, Noun.CQ]
NewQp = Annotated[New, Noun.QP]
