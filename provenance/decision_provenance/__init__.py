"""From bytes to a claim one can check: digests, GGUF headers, model folders and manifests. Standard library only."""
