"""Vendors' additions to the verbs: names only, no device of the lab has them."""
