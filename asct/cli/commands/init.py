"""The command `asct init [FILE]`."""

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
"""The temporary file takes up at most 1/`_KEEP_FREE` of the free space."""


@click.command("init", short_help="Write a commented plan for this machine or --host.")
@click.argument("file", default="plan.yaml", type=click.Path(dir_okay=False, allow_dash=True))
@click.option(
    "--host",
    "address",
    metavar="[USER@]ADDRESS[:PORT]",
    help="Write a plan for this host, whose facts are read over ssh.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@shared_options
def command(options: GlobalOptions, file: str, address: str | None, force: bool) -> None:
    """Write a commented plan that fits this machine or the host given with --host. If FILE is `-`, print the plan."""
    from asct.cli.targets import host_of
    from asct.store.outputs import check_output, write_output

    target = Path(file)
    if file != "-":
        check_output(target, force=force)
    spec = host_of(address)
    text = plan_for(spec, _facts(spec), name=_plan_name(file, spec))
    if file != "-":
        write_output(target, text, force=force)
    if options.json:
        options.console.document({"schema": "asct.init/1", "file": file, "text": text})
    elif file == "-":
        options.console.result(text.rstrip("\n"))
    else:
        options.console.line(f"wrote {file}; next: asct plan {file}")


def _plan_name(file: str, spec: HostSpec) -> str:
    stem = Path(file).stem if file != "-" else spec.name
    return "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in stem) or "plan"


def _facts(spec: HostSpec) -> HostFacts:
    from asct.facts.reading import collect
    from asct.hosts.factory import open_host

    host = open_host(spec)
    try:
        with tempfile.TemporaryDirectory(prefix="asct-init-") as raw:
            return collect(host, Path(raw))
    finally:
        host.close()


def plan_for(spec: HostSpec, facts: HostFacts, name: str) -> str:
    """Return a plan for a host with these facts. The sizes in the plan fit the host's memory and disk; comments
    describe the host's caches."""
    import yaml
    from jinja2 import StrictUndefined, Template

    from asct.cli.targets import as_plan
    from asct.facts.describe import describe
    from asct.resources import folder
    from asct.values.size import format_size

    source = (folder("templates") / "plan.yaml.j2").read_text(encoding="utf-8")
    template = Template(source, trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined)
    host = as_plan(spec)
    text: str = template.render(
        machine=describe(facts).replace("\n", " "),
        name=json.dumps(name),
        host=spec.name if host else "",
        hosts=yaml.safe_dump({"hosts": host}, sort_keys=False) if host else "",
        max_size=_power_of_two(1 << 30, (facts.memory.available_bytes or 4 << 30) // 4, 1 << 20),
        caches=[f"L{cache.level} {format_size(cache.size_bytes)}" for cache in facts.data_caches()],
        fio="fio" in facts.tools,
        file_size=_power_of_two(4 << 30, (facts.work_free_bytes or 0) // _KEEP_FREE, 64 << 20),
        file_system=facts.work_filesystem or "an unknown file system",
    )
    return text


def _power_of_two(size: int, limit: int, least: int) -> str:
    """Halve `size` until it is at most `limit`, and return the result, but never less than `least`."""
    from asct.values.size import format_size

    while size > max(limit, least):
        size >>= 1
    return format_size(size)
