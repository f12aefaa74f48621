"""What it takes to store what a large fleet sends, end to end, and what other stores take for the same values."""
