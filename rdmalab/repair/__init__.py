"""Command lines that repair: by the rule that refused a call, or made from what was set before."""
