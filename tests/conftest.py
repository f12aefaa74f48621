"""Fixtures that every test may ask for; each lives beside the stand-in or the real part that it starts."""

pytest_plugins = ["tests.fakenvml.fixtures"]
