"""Disturbances on a host: `assess`, one file per subject, and the script that applies the fixes. Pure."""

from asct.disturbances.assess import assess
from asct.disturbances.build import MeasuredScope
from asct.disturbances.sample import ActivitySample, sample_of

__all__ = ["ActivitySample", "MeasuredScope", "assess", "sample_of"]
