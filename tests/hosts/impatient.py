"""The asct command, but a silent host is asked after 3 s and given up 6 s later: `python impatient.py apply ...`."""

from __future__ import annotations

from asct.__main__ import main
from asct.hosts import runner_session

runner_session.PING_S, runner_session.PONG_S = 3.0, 6.0

if __name__ == "__main__":
    main()
