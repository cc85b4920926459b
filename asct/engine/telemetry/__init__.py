"""The host state around each repeat: reads it, summarizes it, and judges whether it makes the values doubtful."""
