"""What a kernel prints: JSON Lines of raw integers (asct.kernel/1). The end line decides whether it succeeded."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel, TypeAdapter


class _Line(BaseModel):
    model_config = ConfigDict(extra="allow", allow_inf_nan=False, defer_build=True)


class Meta(_Line):
    """First line: what was built and how it was called. Further fields are the kernel's own."""

    t: Literal["meta"]
    kernel: str | None = Field(default=None, description="name of the folder in kernels/")
    abi: int | None = Field(default=None, description="version of this format")
    compiler: str | None = None
    flags: str | None = None
    argv: list[str] | None = None


class Ready(_Line):
    """Set-up is done (memory touched, threads bound); what follows is measured."""

    t: Literal["ready"]


class Sample(_Line):
    """One measurement: raw integers under names that carry the unit (`ns`, `bytes`, `ticks`, `ops`)."""

    t: Literal["sample"]


class End(_Line):
    """Last line. A stream without it is cut off, and the measurement failed."""

    t: Literal["end"]
    ok: bool
    error: str | None = Field(default=None, description="why not ok, for people")


class StreamLine(RootModel[Annotated[Meta | Ready | Sample | End, Field(discriminator="t")]]):
    """One line of a kernel's standard output."""


_LINE: TypeAdapter[StreamLine] = TypeAdapter(StreamLine)


def parse_line(text: str) -> Meta | Ready | Sample | End:
    """One line; raises ValueError (pydantic's ValidationError) when it is not of the format."""
    return _LINE.validate_json(text).root
