"""The calls of a session, carried out again, and what they are in any language."""
