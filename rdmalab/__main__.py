"""`python -m rdmalab`."""

import sys

from rdmalab.cli import main

if __name__ == "__main__":
    sys.exit(main())
