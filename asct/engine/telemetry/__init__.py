"""Read and summarize the host state before and after each repeat, and judge whether it makes the values doubtful."""
