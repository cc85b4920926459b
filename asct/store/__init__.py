"""The results tree: where everything lies, writing it safely, reading it without guessing."""
