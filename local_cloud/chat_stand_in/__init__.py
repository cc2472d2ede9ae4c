"""A stand-in for AWS's llama.cpp container: its `/usr/bin/serve`, with llama.cpp's own server inside this process.

It imports nothing of the emulator, for it runs in a process of its own, as a container does.
"""
