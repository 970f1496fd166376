"""Both stores by one suite; what a disk, a lock, a kill or another process does to the durable one."""
