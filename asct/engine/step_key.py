"""What makes a step the one it is, over all parts of a run: who asks for it, and what it does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from asct.sdk.guard import target_files, targets_in
from asct.sdk.step import Step


def step_key(identity: Sequence[str], number: int, step: Step, work: str) -> str:
    """64 hex digits. Not its time limit nor what runs beside it, and not where the job's folder `work` lies."""
    program = [type(step.program).__name__, step.program.name]
    parts = [*identity, number, step.name, program, [*step.arguments], _files(step), {**step.env}]
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False).replace(work, "<work>")
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _files(step: Step) -> Mapping[str, str]:
    """The files of a step. That its target was written to before is true from the second part on, and left out."""
    targets = targets_in(step)
    return {**step.files, **target_files([replace(one, dirty=False) for one in targets])} if targets else {**step.files}
