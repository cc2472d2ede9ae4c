"""Builds that run before the deploy that would start them, because they take longer than it can wait."""
