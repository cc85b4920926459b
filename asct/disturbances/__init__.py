"""What disturbs measurement on a host: `assess`, one file per subject, and the script that mends it. Pure."""

from asct.disturbances.assess import assess
from asct.disturbances.build import Wanted
from asct.disturbances.sample import Sample, sample_of

__all__ = ["Sample", "Wanted", "assess", "sample_of"]
