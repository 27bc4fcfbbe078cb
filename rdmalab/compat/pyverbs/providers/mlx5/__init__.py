"""The direct verbs of mlx5 (NVIDIA ConnectX): names only."""
