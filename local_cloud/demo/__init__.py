"""`make demo` and `make down`: the whole road on this machine, through the real CDK CLI, and the way back."""
