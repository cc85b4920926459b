"""Host state around each repeat: what is read, how it is summarized, whether it questions the values."""
