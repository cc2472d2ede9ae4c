"""Every finding that stands, and why: an entry is one rule and one reason, a path one construct, never a pattern.

A path is within the environment: ``Artifacts/Store/Bucket/Resource`` counts in every environment that has it. In a
detail, ``<AWS::AccountId>``, ``<AWS::Region>``, ``<environment>``, ``<endpoint>`` and ``<model>`` stand for what the
environment file says.
"""

from __future__ import annotations

from .acknowledgement import Acknowledged

# The Lambda functions of the custom resources: our own, and those of the CDK's provider framework that poll a build.
_OWN_FUNCTIONS = (
    "Artifacts/EndpointLogGroupFunction/Function/Resource",
    "Endpoint/BuildRunFunctions/OnEvent/Resource",
    "Endpoint/BuildRunFunctions/IsComplete/Resource",
    "Endpoint/VerifiedGgufFunction/Function/Resource",
)
_FRAMEWORK_FUNCTIONS = (
    "Endpoint/BuildRunFunctions/Provider/framework-onEvent/Resource",
    "Endpoint/BuildRunFunctions/Provider/framework-isComplete/Resource",
    "Endpoint/BuildRunFunctions/Provider/framework-onTimeout/Resource",
)
_FRAMEWORK_POLICIES = (
    "Endpoint/BuildRunFunctions/ProviderOnEventRole/DefaultPolicy/Resource",
    "Endpoint/BuildRunFunctions/ProviderIsCompleteRole/DefaultPolicy/Resource",
)
_WAITER = "Endpoint/BuildRunFunctions/Provider/waiter-state-machine/Resource"
_WAITER_POLICY = "Endpoint/BuildRunFunctions/Provider/waiter-state-machine/Role/DefaultPolicy/Resource"
_PACKAGING_POLICY = "Artifacts/Package/Role/DefaultPolicy/Resource"
_IMAGE_POLICY = "Artifacts/Image/Role/DefaultPolicy/Resource"
_ENDPOINT_POLICIES = (
    "Endpoint/Decisions/Role/DefaultPolicy/Resource",
    "Endpoint/Chat/Role/DefaultPolicy/Resource",
)
_LOG_GROUP_POLICY = "Artifacts/EndpointLogGroupFunction/FunctionRole/DefaultPolicy/Resource"
_LOG_OF_THE_ENDPOINT = "Resource::arn:aws:logs:<AWS::Region>:<AWS::AccountId>:log-group:/aws/sagemaker/Endpoints/"
_STORE_FROM_OUTSIDE = "Resource::<environment>-Artifacts:ExportsOutputFnGetAttStoreBucket4FBDE984Arn1CDEC431"

_POLICIES = (
    Acknowledged(
        "NIST.800.53.R5-IAMNoInlinePolicy",
        (
            _LOG_GROUP_POLICY,
            _PACKAGING_POLICY,
            _IMAGE_POLICY,
            "Endpoint/BuildRunFunctions/OnEventRole/DefaultPolicy/Resource",
            "Endpoint/BuildRunFunctions/IsCompleteRole/DefaultPolicy/Resource",
            *_FRAMEWORK_POLICIES,
            _WAITER_POLICY,
            "Endpoint/VerifiedGgufFunction/FunctionRole/DefaultPolicy/Resource",
            *_ENDPOINT_POLICIES,
        ),
        "The policy belongs to one role that one function, build or endpoint takes, and goes with it. As a managed "
        "policy it could be attached to another principal.",
    ),
    Acknowledged(
        "AwsSolutions-IAM5",
        _FRAMEWORK_POLICIES,
        "The CDK grants a function with its versions and aliases, the :* after its ARN. It is this one function.",
        (
            "Resource::<BuildRunFunctionsOnEvent95FE2E20.Arn>:*",
            "Resource::<BuildRunFunctionsIsComplete2DDA974B.Arn>:*",
        ),
    ),
    Acknowledged(
        "AwsSolutions-IAM5",
        (_WAITER_POLICY,),
        "The CDK grants a function with its versions and aliases, the :* after its ARN. It is this one function.",
        (
            "Resource::<BuildRunFunctionsProviderframeworkisCompleteAE50D023.Arn>:*",
            "Resource::<BuildRunFunctionsProviderframeworkonTimeout557F6740.Arn>:*",
        ),
    ),
    Acknowledged(
        "AwsSolutions-IAM5",
        (_PACKAGING_POLICY,),
        "The CDK's read and write grants on this bucket: variants of reading, listing and ending an upload, on "
        "models/ of this bucket and on the one asset that is the job's code. The bucket's policy lets nobody "
        "overwrite a model.",
        ("Action::s3:Abort*", "Action::s3:GetBucket*", "Action::s3:GetObject*", "Action::s3:List*"),
    ),
    Acknowledged(
        "AwsSolutions-IAM5",
        (_PACKAGING_POLICY,),
        "The key of a model holds its digest, which is not known when the role is made; models/ is what it is for.",
        ("Resource::<StoreBucket4FBDE984.Arn>/models/*",),
    ),
    Acknowledged(
        "AwsSolutions-IAM5",
        (_PACKAGING_POLICY,),
        "The streams of the project's own log group: CodeBuild names them.",
        ("Resource::arn:aws:logs:<AWS::Region>:<AWS::AccountId>:log-group:/aws/codebuild/<PackageProjectF870A8CC>:*",),
    ),
    Acknowledged(
        "AwsSolutions-IAM5",
        (_IMAGE_POLICY,),
        "The CDK's read grant on one asset, the image's build context: ways to read it and to list its bucket.",
        ("Action::s3:GetBucket*", "Action::s3:GetObject*", "Action::s3:List*"),
    ),
    Acknowledged(
        "AwsSolutions-IAM5",
        (_IMAGE_POLICY,),
        "The streams of the project's own log group: CodeBuild names them.",
        ("Resource::arn:aws:logs:<AWS::Region>:<AWS::AccountId>:log-group:/aws/codebuild/<ImageProject1544FA78>:*",),
    ),
    Acknowledged(
        "AwsSolutions-IAM5",
        (_IMAGE_POLICY,),
        "ecr:GetAuthorizationToken knows no resource. What the token may do is in the other statements: pull AWS's "
        "container, push to this repository.",
        ("Resource::*",),
    ),
    Acknowledged(
        "AwsSolutions-IAM5",
        (
            "Endpoint/BuildRunFunctions/OnEventRole/DefaultPolicy/Resource",
            "Endpoint/BuildRunFunctions/IsCompleteRole/DefaultPolicy/Resource",
        ),
        "Reads the manifest of this model, of each digest: a rollback asks for that of the release before.",
        (f"{_STORE_FROM_OUTSIDE}/models/<model>/*/model-manifest.json",),
    ),
    Acknowledged(
        "AwsSolutions-IAM5",
        ("Endpoint/VerifiedGgufFunction/FunctionRole/DefaultPolicy/Resource",),
        "Reads the files of this model, of each digest: a rollback verifies that of the release before. What it found "
        "is one object for each model and digest under verified/, where nobody else may write.",
        (f"{_STORE_FROM_OUTSIDE}/models/<model>/*/*", f"{_STORE_FROM_OUTSIDE}/verified/*"),
    ),
    Acknowledged(
        "AwsSolutions-IAM5",
        _ENDPOINT_POLICIES,
        "Reads the files of this model, of each digest: while an update runs, an instance of the old one may start.",
        (f"{_STORE_FROM_OUTSIDE}/models/<model>/*",),
    ),
    Acknowledged(
        "AwsSolutions-IAM5",
        _ENDPOINT_POLICIES,
        "cloudwatch:PutMetricData knows no resource; a condition narrows it to the namespace of SageMaker's instances.",
        ("Resource::*",),
    ),
    Acknowledged(
        "AwsSolutions-IAM5",
        ("Endpoint/Decisions/Role/DefaultPolicy/Resource", _LOG_GROUP_POLICY),
        "The streams of this endpoint's log group: SageMaker names them by instance.",
        (f"{_LOG_OF_THE_ENDPOINT}<endpoint>:*",),
    ),
    Acknowledged(
        "AwsSolutions-IAM5",
        ("Endpoint/Chat/Role/DefaultPolicy/Resource", _LOG_GROUP_POLICY),
        "The streams of this endpoint's log group: SageMaker names them by instance.",
        (f"{_LOG_OF_THE_ENDPOINT}<environment>:*",),
    ),
    Acknowledged(
        "AwsSolutions-IAM5",
        (_LOG_GROUP_POLICY,),
        "logs:DescribeLogGroups names no single group. It shows names and settings, never a line.",
        ("Resource::arn:aws:logs:<AWS::Region>:<AWS::AccountId>:log-group:*",),
    ),
)

_FUNCTIONS = (
    Acknowledged(
        "AwsSolutions-L1",
        _OWN_FUNCTIONS,
        "The functions run on the Python for which their code is tested; it is raised on purpose, with the tests. "
        "Lambda supports that version with security patches.",
    ),
    Acknowledged(
        "NIST.800.53.R5-LambdaInsideVPC",
        (*_OWN_FUNCTIONS, *_FRAMEWORK_FUNCTIONS),
        "They call AWS's own APIs over TLS and nothing else, hold no data between calls, and are invoked by "
        "CloudFormation during a deploy. A VPC would add endpoints to pay for and no resource that they reach.",
    ),
    Acknowledged(
        "NIST.800.53.R5-LambdaDLQ",
        (*_OWN_FUNCTIONS, *_FRAMEWORK_FUNCTIONS),
        "A call that fails is told to CloudFormation, whose event shows it and which rolls back. An event read later "
        "from a queue could only disturb another deploy.",
    ),
    Acknowledged(
        "NIST.800.53.R5-LambdaConcurrency",
        (*_OWN_FUNCTIONS, *_FRAMEWORK_FUNCTIONS),
        "Called once for each resource of a deploy. Reserved concurrency would take from the account's pool all the "
        "time, and at its limit a deploy would fail.",
    ),
    Acknowledged(
        "AwsSolutions-SF1",
        (_WAITER,),
        "It only repeats `isComplete` until a build has ended. What each look found is in the functions' own logs, "
        "and the reason of a failure in the stack's event.",
    ),
    Acknowledged(
        "AwsSolutions-SF2",
        (_WAITER,),
        "One function in a loop, a few times a deploy: there is no path through services to trace.",
    ),
)

_ENCRYPTION = (
    Acknowledged(
        "NIST.800.53.R5-S3DefaultEncryptionKMS",
        ("Artifacts/Store/Bucket/Resource",),
        "Encrypted with S3's own keys: models are public files, checked by digest. `ArtifactStore` takes a key for "
        "those that are not.",
    ),
    Acknowledged(
        "NIST.800.53.R5-S3DefaultEncryptionKMS",
        ("Artifacts/Store/AccessLogs/Resource",),
        "Encrypted with S3's own keys, the only ones with which S3 delivers access logs.",
    ),
    Acknowledged(
        "NIST.800.53.R5-CloudWatchLogGroupEncrypted",
        (
            "Artifacts/EndpointLogGroupFunction/FunctionLogs/Resource",
            "Artifacts/Package/Logs/Resource",
            "Artifacts/Image/Logs/Resource",
            "Endpoint/BuildRunFunctions/OnEventLogs/Resource",
            "Endpoint/BuildRunFunctions/IsCompleteLogs/Resource",
            "Endpoint/BuildRunFunctions/ProviderLogs/Resource",
            "Endpoint/VerifiedGgufFunction/FunctionLogs/Resource",
        ),
        "Encrypted with CloudWatch Logs' own keys. The lines of builds and deploys name models, digests and errors, "
        "never a request or a credential.",
    ),
    Acknowledged(
        "AwsSolutions-CB4",
        ("Artifacts/Package/Project/Resource", "Artifacts/Image/Project/Resource"),
        "A customer's key would encrypt the build's output artifacts and its cache. It has neither: what it makes it "
        "uploads itself, to a bucket or a repository with its own encryption.",
    ),
    Acknowledged(
        "NIST.800.53.R5-SageMakerEndpointConfigurationKMSKeyConfigured",
        ("Endpoint/Decisions/Config", "Endpoint/Chat/Config"),
        "Instances with local NVMe refuse a key: their storage is encrypted by the hardware. On others the volume "
        "holds the model's public files, never a request; `volume_key` gives it a key.",
    ),
)

_BUCKETS = (
    Acknowledged(
        "NIST.800.53.R5-S3BucketReplicationEnabled",
        ("Artifacts/Store/Bucket/Resource", "Artifacts/Store/AccessLogs/Resource"),
        "All that is in the store can be made again from a pinned source, bit for bit, and is versioned. Another "
        "region has an environment and a store of its own.",
    ),
    Acknowledged(
        "NIST.800.53.R5-S3BucketVersioningEnabled",
        ("Artifacts/Store/AccessLogs/Resource",),
        "Access logs are written by S3, each under a new key, and expire.",
    ),
)

SECURITY: tuple[Acknowledged, ...] = (*_POLICIES, *_FUNCTIONS, *_ENCRYPTION, *_BUCKETS)

LINT: tuple[Acknowledged, ...] = (
    Acknowledged(
        "W3005",
        (
            *_OWN_FUNCTIONS,
            *_FRAMEWORK_FUNCTIONS,
            _WAITER,
            "Artifacts/Custom::S3AutoDeleteObjectsCustomResourceProvider/Handler",
            "Artifacts/EndpointLogs/Resource/Default",
            "Endpoint/Model/Build/Resource/Default",
            "Endpoint/Model/Verified/Resource/Default",
            "Endpoint/Image/Build/Resource/Default",
            "Endpoint/Decisions/Model",
            "Endpoint/Chat/Model",
        ),
        "The resource waits for a role with its policies, of which the CDK writes down each. That it refers to the "
        "role itself too makes one of them superfluous, and none of them wrong.",
    ),
    Acknowledged(
        "W6001",
        ("Endpoint/ImageDigest",),
        "The output is for people to read; no stack imports it, so no chain of exports comes of it.",
    ),
)
