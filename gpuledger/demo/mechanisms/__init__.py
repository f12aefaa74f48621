"""What runs do to their GPUs, as mechanisms: rates, kernel lengths, think times. No mechanism knows a rule."""
