"""The facts of a host.

`collect` reads all files and runs all commands in one exchange. Pure parsers (one module per subject) then derive the
facts from the output.
"""

from asct.facts.describe import describe
from asct.facts.reading import collect, session_script

__all__ = ["collect", "describe", "session_script"]
