"""Long trials: fuzzing, kills, simulations. `make test` gives each a few seconds, `make soak` minutes."""
