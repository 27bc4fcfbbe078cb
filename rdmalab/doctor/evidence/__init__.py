"""Facts that the log has: work requests, calls, messages, bytes. Nothing here knows a Case."""
