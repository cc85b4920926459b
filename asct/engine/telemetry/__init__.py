"""The host state around each repeat: reads and summarizes it, and judges whether it makes the values doubtful."""
