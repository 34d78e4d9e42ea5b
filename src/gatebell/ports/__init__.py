"""The doors: what the service needs of the outside, as Protocols and nothing else."""
