"""The host state before and after each repeat: read it, summarize it, and judge whether it makes the values
doubtful."""
