"""A real, throw-away Slurm cluster for tests; README.md says how it is built and what it taught."""
