"""The version, in one place, for the wheel and for `rdmalab --version`."""

VERSION = "0.1.0"
