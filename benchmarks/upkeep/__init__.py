"""What keeps a store's sums right and its size small: rollups as data comes, data that comes late, days that go."""
