"""What the scripts beside this package do: they are its entry points."""
