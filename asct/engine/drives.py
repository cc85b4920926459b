"""What the drives are below the paths that a job opens: text that stays the same while they do."""

from __future__ import annotations

import re
from collections.abc import Collection

from asct.hosts.base import Host

_FACTS = (
    "size ro partition serial dm/uuid md/uuid loop/backing_file queue/rotational queue/scheduler queue/write_cache"
    " queue/logical_block_size queue/zoned device/vendor device/model device/serial device/wwid device/rev"
    " device/firmware_rev"
)
_LOOK = f"""tell() {{
  for fact in {_FACTS}; do
    [ ! -f "$1/$fact" ] || printf '%s: %s\\n' "$fact" "$(tr '\\n' ' ' 2>/dev/null <"$1/$fact")"
  done
  [ ! -e "$1/partition" ] || (tell "$(readlink -f -- "$1/..")")
  for below in "$1"/slaves/*; do [ ! -e "$below" ] || (tell "$(readlink -f -- "$below")"); done
}}
for path do
  echo =
  [ ! -f "$path" ] || LC_ALL=C ls -lnL -- "$path" | awk 'NR == 1 {{print "bytes: " $5}}'
  if [ -b "$path" ]; then drive=$path
  else drive=$(df -P -- "$path" 2>/dev/null | awk 'END {{print $1}}'); echo "file system on: $drive"
  fi
  drive=$(readlink -f -- "$drive")
  [ ! -b "$drive" ] || tell "/sys/class/block/${{drive##*/}}"
done"""
"""Model, serial, firmware and the like of a block device, of the drive it is a part of, and of those below it. A file
is known by its size and by what it lies on."""

_HEAD = re.compile(r"^=\n", re.MULTILINE)


def drives(host: Host, paths: Collection[str]) -> dict[str, str]:
    """Each path with what is known of its drives, links followed, in one exchange. Raises HostError."""
    if not paths:
        return {}
    names = list(paths)
    answer = host.answer(["sh", "-c", _LOOK, "sh", *names])
    texts = _HEAD.split(answer.stdout)[1:]
    return dict(zip(names, [*texts, *[""] * len(names)], strict=False))
