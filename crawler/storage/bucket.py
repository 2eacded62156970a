"""Is there a bucket, and may we write to it? Asked once, with boto3, which knows all of the service."""

from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from crawler.errors import EngineRefused
from crawler.storage.s3_errors import explain
from crawler.storage.s3_place import S3Place

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

DEFAULT_REGION = "us-east-1"  # what servers other than Amazon's call theirs
ABANDONED_UPLOAD_DAYS = 7


def open_session(place: S3Place) -> boto3.Session:
    """With the keys of the environment, of ~/.aws or of the machine's role, in boto3's order."""
    try:
        session = boto3.Session(region_name=place.region or None)
        if not session.region_name:
            session = boto3.Session(region_name=DEFAULT_REGION)
        credentials = session.get_credentials()
    except BotoCoreError as error:
        raise explain(error, str(place)) from None
    if credentials is None:
        raise EngineRefused(f"there are no keys for {place}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    return session


def check_bucket(session: boto3.Session, place: S3Place) -> None:
    client: S3Client = session.client(
        "s3",
        endpoint_url=place.endpoint_url or None,
        config=Config(
            connect_timeout=3, read_timeout=10, retries={"total_max_attempts": 3, "mode": "standard"},
            s3={"addressing_style": "path"} if place.endpoint_url else {},
        ),
    )  # fmt: skip
    try:
        try:
            client.head_bucket(Bucket=place.bucket)
        except ClientError as error:
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            if status in (400, 403):
                # The answer to a HEAD has no body to say what is wrong, a secret or a policy: this one has.
                client.list_objects_v2(Bucket=place.bucket, Prefix=place.prefix, MaxKeys=1)
            if status != 404 or not place.create_bucket:
                raise
            _create(client, place, session.region_name)
    except (BotoCoreError, ClientError) as error:
        raise explain(error, str(place)) from None
    finally:
        client.close()


def _create(client: "S3Client", place: S3Place, region: str) -> None:
    options: dict[str, Any] = {}
    if region != DEFAULT_REGION:
        options["CreateBucketConfiguration"] = {"LocationConstraint": region}
    try:
        client.create_bucket(Bucket=place.bucket, **options)
    except ClientError as error:
        # Another worker was first. If it was a stranger, the write check that follows will tell.
        if error.response.get("Error", {}).get("Code") not in ("BucketAlreadyOwnedByYou", "BucketAlreadyExists"):
            raise
    # Parts of an upload that broke off are not listed, but they are paid for.
    rule: Any = {
        "ID": "abandoned-uploads",
        "Status": "Enabled",
        "Filter": {"Prefix": ""},
        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": ABANDONED_UPLOAD_DAYS},
    }
    client.put_bucket_lifecycle_configuration(Bucket=place.bucket, LifecycleConfiguration={"Rules": [rule]})
