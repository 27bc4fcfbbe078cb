"""WHAT THE EXPERIMENTER MAY DO and no program can: move time, spoil packets, look, ask, keep."""
