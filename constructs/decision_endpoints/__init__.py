"""AWS CDK constructs for verified SageMaker AI endpoints that answer decisions."""
