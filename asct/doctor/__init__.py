"""What stands in the way of measuring on a host, found without changing it: `examine`, and one file per subject."""

from asct.doctor.examine import examine
from asct.doctor.model import Disk, FailedCheck, HostReport

__all__ = ["Disk", "FailedCheck", "HostReport", "examine"]
