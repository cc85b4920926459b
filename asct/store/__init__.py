"""The results tree: its layout, its documents, and how they are written and read."""
