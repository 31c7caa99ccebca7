"""Rules for everything that is not a command: tools, paths, hosts; those somebody wrote and those that are built in."""
