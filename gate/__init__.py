"""The checks before a deploy, which `make check` runs: offline, without credentials, on every pull request.

`__main__` runs the parts of `parts`, each a command of its own; a part that failed can be run again alone.
"""
