"""Record the output of another version of fio: `python -m tests.fio.record_versions PATH...`, where each PATH is that
of a fio program.

The files in `recorded` contain the output of fio, without the white space in its documents. They were recorded with the
fio versions of Debian 11 to 14 (3.25, 3.33, 3.39, 3.41).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from asct.instruments.fio.jobfile import job_file
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.process import section_options
from tests.fio.record import compact
from tests.fio.running import facts_here

FOLDER = Path(__file__).parent / "recorded"
PARAMS = FioParams(
    rw="randrw", numjobs=2, iodepth=4, filesize=2**22, duration=0.8, ramp_time=0.4, cpus="all", rate_iops=150
)
ARGUMENTS = ("--output-format=json+", "--output=fio.json", "--eta=never", "--status-interval=200ms", "job.fio")


def main(programs: list[str]) -> None:
    for program in programs:
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
            folder = Path(name)
            (folder / "data").write_bytes(bytes(range(256)) * 2**14)
            options = section_options(PARAMS, facts_here(["libaio"]), ())
            (folder / "job.fio").write_text(job_file({"point": options}, [str(folder / "data")]))
            subprocess.run([program, *ARGUMENTS], cwd=folder, check=True)
            FOLDER.mkdir(exist_ok=True)
            text = compact("fio.json", (folder / "fio.json").read_text())
            (FOLDER / f"{version}.json").write_text(text.replace(str(folder), "/work"))


if __name__ == "__main__":
    main(sys.argv[1:])
