"""The results tree: its layout, its documents, and how to write and read them."""
