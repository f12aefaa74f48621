"""A store of one year of a cluster, written straight into the tables: what an ingester would leave, in minutes."""
