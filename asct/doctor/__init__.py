"""Read-only checks of hosts: `examine`, and one file per subject."""

from asct.doctor.examine import examine
from asct.doctor.model import Disk, FailedCheck, HostReport

__all__ = ["Disk", "FailedCheck", "HostReport", "examine"]
