"""The results tree: its layout, its documents, writing and reading them."""
