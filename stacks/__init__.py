"""The app's stacks: they wire constructs and define no resource themselves."""
