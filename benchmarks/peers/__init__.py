"""Other stores that benchmarks measure beside ours, as Debian packs them: child processes on loopback, fed by them.

Each is a context manager that starts the program with a port and a directory of its own and ends it by its pid.
"""
