"""What is missing before a deploy: one check a module, each says ok, missing or unknown.

A check that could not be made is never ok.
"""
