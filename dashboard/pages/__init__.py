"""One file a page: a module with a PAGE. It is found by app.py; no list is edited."""
