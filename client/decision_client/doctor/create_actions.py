"""Which action of IAM creates a resource of which type.

Source: AWS service authorization reference.
"""

from __future__ import annotations

CREATE_ACTIONS = {
    "AWS::ApplicationAutoScaling::ScalableTarget": ("application-autoscaling:RegisterScalableTarget",),
    "AWS::ApplicationAutoScaling::ScalingPolicy": ("application-autoscaling:PutScalingPolicy",),
    "AWS::CloudWatch::Alarm": ("cloudwatch:PutMetricAlarm",),
    "AWS::CloudWatch::Dashboard": ("cloudwatch:PutDashboard",),
    "AWS::CodeBuild::Project": ("codebuild:CreateProject",),
    "AWS::ECR::Repository": ("ecr:CreateRepository",),
    "AWS::IAM::Policy": ("iam:PutRolePolicy",),
    "AWS::IAM::Role": ("iam:CreateRole", "iam:PassRole"),
    "AWS::KMS::Key": ("kms:CreateKey",),
    "AWS::Lambda::Function": ("lambda:CreateFunction", "lambda:InvokeFunction"),
    "AWS::Logs::LogGroup": ("logs:CreateLogGroup",),
    "AWS::Logs::MetricFilter": ("logs:PutMetricFilter",),
    "AWS::S3::Bucket": ("s3:CreateBucket",),
    "AWS::S3::BucketPolicy": ("s3:PutBucketPolicy",),
    "AWS::SNS::Topic": ("sns:CreateTopic",),
    "AWS::SNS::TopicPolicy": ("sns:SetTopicAttributes",),
    "AWS::SageMaker::Endpoint": ("sagemaker:CreateEndpoint",),
    "AWS::SageMaker::EndpointConfig": ("sagemaker:CreateEndpointConfig",),
    "AWS::SageMaker::Model": ("sagemaker:CreateModel",),
    "AWS::StepFunctions::StateMachine": ("states:CreateStateMachine",),
}
"""Of the types that the constructs of this library make."""
