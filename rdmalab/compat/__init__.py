"""Skins: the lab under the names of other programming interfaces."""
