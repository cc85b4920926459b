"""The colors shared by figures and drawings."""

from typing import Final

VIRIDIS: Final = (
    "#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725",
)  # fmt: skip
"""The perceptually uniform color map that Smith and van der Walt created for matplotlib (2015), from low to high. The
map also works for people with color vision deficiencies and in grayscale."""
