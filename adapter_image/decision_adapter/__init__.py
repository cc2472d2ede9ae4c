"""The server that runs in the container and locally: decisions in, probabilities over their options out."""
