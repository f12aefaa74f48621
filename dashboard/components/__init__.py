"""Parts that pages are made of: each one small, plain HTML where possible, the same in both colour schemes."""
