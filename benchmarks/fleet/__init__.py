"""A hub that serves a large fleet for minutes: what comes in, what is summed, judged and shown, all at once."""
