"""Read-only checks of hosts, one module per subject; `examine` runs them."""

from asct.doctor.examine import examine
from asct.doctor.model import Disk, FailedCheck, HostReport

__all__ = ["Disk", "FailedCheck", "HostReport", "examine"]
