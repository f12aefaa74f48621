"""One file a sub-command; each defines ``command``."""
