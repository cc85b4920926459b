"""What else the host did around each repeat: what is read, how it is understood, whether the values can be trusted."""
