"""One file a section."""
