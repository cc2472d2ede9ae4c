"""The packaging job: brings a pinned model into the bucket, once, with a manifest that says what it is.

It is what the CodeBuild project runs (`python3 -m decision_client.packaging`); it needs boto3 and nothing else.
"""
