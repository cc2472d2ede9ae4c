"""What an application imports to ask a decision endpoint."""
