"""Weekly reports: figures from the named queries, sections one file each, rendered as HTML and as text."""
