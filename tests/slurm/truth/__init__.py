"""The truth test: jobs that a test submits and GPUs that it drives, and what is therefore true of every run."""
