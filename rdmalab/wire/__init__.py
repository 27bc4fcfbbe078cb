"""BYTES: a packet as meaning (`packet`), as declared bits (`headers`), `roce` between the two."""
