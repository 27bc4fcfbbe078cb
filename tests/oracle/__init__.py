"""What Soft-RoCE answered, asked of profile rxe."""
