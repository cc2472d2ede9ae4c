"""A stand-in for Docker in the builds of the local cloud, which has none: it checks what it is given, and runs nothing.

What it pushes is a manifest that names the content of the build, so that the image has a digest, and changed content
another one. It imports nothing of the emulator, for it runs in the processes of a build.
"""
