"""The full-screen app (Textual): panes, keys, and the console."""

import os

# A frame waits for the next tick of Textual's clock: at its 60 a second, a key waits 8 ms for its
# echo, and the start, which is a chain of frames, 60 ms. Nothing is drawn while nothing changes.
os.environ.setdefault("TEXTUAL_FPS", "250")
