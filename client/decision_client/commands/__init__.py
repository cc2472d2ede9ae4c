"""The commands of `decisions`, one a module."""
