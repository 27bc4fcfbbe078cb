"""Text input and output: prompt, completion, colours, and replies as styled lines."""
