"""Commands: typed functions whose signature is the grammar.

Annotations give parsing, completion and validation, the docstring gives the help. The first
parameter is not grammar: `world` (the command changes the world and is journaled) or `session` (it
looks, moves time or edits the past). Parameters before `*` are positional words, those after it
are written `key=value`. This package defines the kinds of argument and no command.
"""

from rdmalab.command.arguments import *
from rdmalab.command.declaration import *
from rdmalab.command.errors import *
from rdmalab.command.kinds import *
from rdmalab.command.metadata import *
