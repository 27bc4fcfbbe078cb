"""The direct verbs of EFA (Amazon): names only."""
