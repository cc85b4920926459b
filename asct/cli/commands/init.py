"""`asct init [FILE]`."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from asct.cli.options import GlobalOptions, shared_options

if TYPE_CHECKING:
    from asct.plan.model import HostSpec
    from asct.sdk.facts import HostFacts

_KEEP_FREE = 10


@click.command("init", short_help="Write a commented plan for this machine or --host.")
@click.argument("file", default="plan.yaml", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--host", "address", metavar="[USER@]ADDRESS[:PORT]", help="Fit the plan to this host instead, over ssh.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@shared_options
def command(options: GlobalOptions, file: str, address: str | None, force: bool) -> None:
    """Write a commented plan that fits this machine, or the host given with --host. FILE `-` prints it."""
    from asct.cli.targets import host_of

    target = Path(file)
    if file != "-" and target.exists() and not force:
        raise click.UsageError(f"{file} exists; choose another file, or add `--force` to overwrite it")
    spec = host_of(address)
    facts = _facts(spec)
    text = plan_for(spec, facts, name=_plan_name(file, spec))
    if file != "-":
        from asct.cli.files import write_text

        write_text(target, text)
    if options.json:
        options.console.document({"schema": "asct.init/1", "file": file, "text": text})
        return
    if file == "-":
        options.console.result(text.rstrip("\n"))
        return
    options.console.line(f"wrote {file}; next: asct plan {file}")


def _plan_name(file: str, spec: HostSpec) -> str:
    stem = Path(file).stem if file != "-" else spec.name
    return "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in stem) or "plan"


def _facts(spec: HostSpec) -> HostFacts:
    from asct.facts import collect
    from asct.hosts.factory import open_host

    host = open_host(spec)
    try:
        with tempfile.TemporaryDirectory(prefix="asct-init-") as raw:
            return collect(host, Path(raw))
    finally:
        host.close()


def plan_for(spec: HostSpec, facts: HostFacts, name: str) -> str:
    """The text of a plan for a host with these facts: caches in comments, sizes that fit its memory and disk."""
    hosts = _hosts_part(spec)
    return f"""\
# yaml-language-server: $schema=plan.schema.json
# Schema for editors: asct schema plan > plan.schema.json
# {_description(facts)}
plan: 1
name: {json.dumps(name)}
description: Memory latency and storage performance of {"this machine" if spec.transport == "local" else spec.name}

# Used below as ${{vars.runtime}}; override with --set vars.runtime=5s
vars:
  runtime: 10s
{hosts}
defaults:
  repeats: 1                  # with 3 or more, results have an interval across repeats

benchmarks:
  - id: latency
    uses: latency-sweep       # asct explain latency-sweep
    config:
      max_size: {_largest(facts)}            # much larger than the last-level cache{_cache_text(facts)}
      pages: auto             # 1G or 2M if the huge page pools have free pages, else THP, else 4K

{_storage_part(facts)}
# Expectations: if one fails, `asct apply` exits with 1. Uncomment them and set your own bounds.
# expect:
#   - {{metric: latency.latency, at: {{level: DRAM}}, max: 130 ns}}
#   - {{metric: depth.read_iops, at: {{iodepth: 8}}, min: 50k}}

profiles:
  quick: {{vars: {{runtime: 2s}}}}   # asct apply --profile quick
"""


def _hosts_part(spec: HostSpec) -> str:
    if spec.transport == "local":
        return ""
    lines = [f"\nhosts:\n  {spec.name}:", "    transport: ssh", f"    address: {spec.address}"]
    if spec.port != 22:
        lines.append(f"    port: {spec.port}")
    if spec.user:
        lines.append(f"    user: {spec.user}")
    return "\n".join(lines) + "\n"


def _description(facts: HostFacts) -> str:
    from asct.facts import describe

    return f"Written for {describe(facts)}".replace("\n", " ")


def _cache_text(facts: HostFacts) -> str:
    from asct.values.size import format_size

    caches = [f"L{cache.level} {format_size(cache.size_bytes)}" for cache in facts.data_caches()]
    return f": {', '.join(caches)}" if caches else ""


def _largest(facts: HostFacts) -> str:
    """1G, or less where memory is short: at most a quarter of what is available, a power of two."""
    from asct.values.size import format_size

    available = facts.memory.available_bytes or 4 << 30
    size = 1 << 30
    while size > available // 4 and size > 1 << 20:
        size >>= 1
    return format_size(size)


def _storage_part(facts: HostFacts) -> str:
    from asct.values.size import format_size

    if "fio" not in facts.tools:
        return "# Storage benchmarks (see `asct list`) require fio, which is missing (Debian: apt-get install fio).\n"
    free = facts.work_free_bytes or 0
    size = 4 << 30
    while size > max(free // _KEEP_FREE, 1 << 20) and size > 64 << 20:
        size >>= 1
    return f"""\
  - id: depth
    uses: storage-io-depth-sweep
    config:
      duration: "${{vars.runtime}}"
      filesize: {format_size(size)}            # a temporary file in the work folder, removed afterwards
      # the work folder is on {facts.work_filesystem or "an unknown file system"}
      # file_names: /dev/disk/by-id/...   # or read a device
      numjobs: 1
      iodepth_sweep_steps: [1, 2, 4, 8, 16, 32, 64, 128]
"""
