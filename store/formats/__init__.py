"""Pure parsers of what other programs print: bytes in, rows and refusals out. One file a format."""
