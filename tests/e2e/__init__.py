"""The whole chain as people use it: commands as processes of their own, a real browser, files on real disks."""
