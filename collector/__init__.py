"""The node daemon: reads the hardware and Slurm, writes segments, delivers them."""
