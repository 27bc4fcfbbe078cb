"""work_requests.md, row by row and bullet by bullet: what the book says is played at the prompt."""
