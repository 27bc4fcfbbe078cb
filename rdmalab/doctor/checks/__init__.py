"""The checks, by family; `spec/causes.toml` has their order."""
