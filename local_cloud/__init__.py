"""A stand-in for AWS on this machine, for development and tests only: loopback, no account, no Docker, never for production."""
