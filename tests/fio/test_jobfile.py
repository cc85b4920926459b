"""Job files: values that fio would misread are refused, and all others are passed on unchanged. Compared with fio
itself."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asct.instruments.fio.jobfile import job_file, joined_names, refusal
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.sections import range_options


@pytest.mark.parametrize("value", ["a\nb", "a;b", "a#b", "[a]", "$x", "a\\b", " a", "a ", "", "a\x00", "a\tb", "a\x7f"])
def test_what_fio_would_misread_is_refused(value: str) -> None:
    assert refusal(value)
    with pytest.raises(ValueError, match="cannot appear in a fio job file"):
        job_file({"point": {}}, [value])
    with pytest.raises(ValueError, match="cannot appear in a fio job file"):
        job_file({"point": {"rw": value}}, ["/x"])


def test_sections_options_and_equal_signs() -> None:
    for section in ("global", "a]b", "a b", ""):
        with pytest.raises(ValueError, match="valid job name"):
            job_file({section: {}}, ["/x"])
    for key in ("a=b", "filename", "A", ""):
        with pytest.raises(ValueError, match="option"):
            job_file({"p": {key: "1"}}, ["/x"])
    with pytest.raises(ValueError, match="contains `=`"):
        job_file({"p": {"rw": "a=b"}}, ["/x"])


def test_every_section_works_on_the_same_targets() -> None:
    text = job_file({"a": {"rw": "read"}, "b": {"rw": "write"}}, ["/x"])
    assert text == "[a]\nfilename=/x\nrw=read\n[b]\nfilename=/x\nrw=write\n"


def test_colons_are_escaped() -> None:
    assert joined_names(["/dev/a:b", "/c"]) == "/dev/a\\:b:/c"


@pytest.mark.fio
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=40))
def test_fio_reads_back_what_was_written(name: str, tmp_path: Path) -> None:
    path = f"/data/{name}"
    if refusal(path):
        return
    (tmp_path / "job.fio").write_text(job_file({"point": {"rw": "read", "size": "4096"}}, [path]))
    shown = subprocess.run(["fio", "--showcmd", "job.fio"], cwd=tmp_path, capture_output=True, check=True)
    text = shown.stdout.decode()
    assert f"--filename={path}".replace(":", "\\:") in text.splitlines()[0] or shlex.quote(path) in text
    assert "--rw=read" in text


@pytest.mark.parametrize(
    ("values", "size", "increment"),
    [
        ({"filesize": 2**20}, "1048576", None),
        ({"filesize": 2**20, "rw": "read", "numjobs": 1}, "1048576", None),
        ({"filesize": 2**20, "rw": "read", "numjobs": 3}, "348160", "348160"),
        ({"filesize": 2**20, "rw": "write", "numjobs": 4, "block_size": 512}, "262144", "262144"),
        ({"file_names": "/x"}, None, None),
        ({"file_names": "/x", "rw": "read", "numjobs": 4}, "25%", "25%"),
        ({"file_names": ["/x", "/y"], "rw": "rw", "numjobs": 2, "filesize": 2**20}, "524288", "262144"),
    ],
)
def test_sequential_jobs_get_slices(values: dict[str, object], size: str | None, increment: str | None) -> None:
    options = range_options(FioParams.model_validate(values))
    assert (options.get("size"), options.get("offset_increment")) == (size, increment)
