"""The asct command with short limits for silent hosts: it pings a host after 3 s, and gives up 6 s later."""

from __future__ import annotations

from asct.__main__ import main
from asct.hosts import runner_session

runner_session.PING_S, runner_session.PONG_S = 3.0, 6.0

if __name__ == "__main__":
    main()
