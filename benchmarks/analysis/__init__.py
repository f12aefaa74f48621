"""What the analysis of a week of raw rows costs: means, footprints, rules, the weekly report."""
