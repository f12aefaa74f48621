"""Plugins and fixtures that every test may ask for; each lives beside the stand-in or the real part that it starts."""

pytest_plugins = ["tests.fakenvml.fixtures", "tests.slurm.fixtures", "tests.soak.plugin", "tests.strictness"]
