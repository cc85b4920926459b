"""Which exceptions a lack of memory causes."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

from asct.values.memory import is_out_of_memory

_LIMITED = """
import resource
from asct.values.memory import is_out_of_memory

problem = SystemError("error return without exception set")
print(is_out_of_memory(problem))
resource.setrlimit(resource.RLIMIT_AS, (40 << 20, resource.RLIM_INFINITY))
print(is_out_of_memory(problem), is_out_of_memory(ValueError()))
"""


@pytest.mark.parametrize(
    ("problem", "found"),
    [
        (MemoryError(), True),
        (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), True),
        (ImportError("libgcc_s.so.1: failed to map segment from shared object"), True),
        (ImportError("No module named 'x'"), False),
        (OSError(errno.ENOENT, os.strerror(errno.ENOENT)), False),
        (ValueError("Cannot allocate memory"), False),
    ],
)
def test_exceptions_and_those_that_follow_them(problem: Exception, found: bool) -> None:
    assert is_out_of_memory(problem) is found
    for raised in (KeyError(), SystemError()):
        raised.__context__ = problem
        assert is_out_of_memory(raised) is found


def test_exceptions_that_follow_each_other() -> None:
    one, other = KeyError(), ValueError()
    one.__cause__, other.__context__ = other, one
    assert not is_out_of_memory(one)


def test_an_error_of_the_interpreter_is_a_lack_of_memory_only_if_memory_is_short() -> None:
    done = subprocess.run([sys.executable, "-c", _LIMITED], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False", "True False"]
