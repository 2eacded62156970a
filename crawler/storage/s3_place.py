"""Where on S3 is the store? As the settings say it; a module of its own, since the S3 clients are slow to import."""

from dataclasses import dataclass


@dataclass(frozen=True)
class S3Place:
    bucket: str
    prefix: str = ""
    endpoint_url: str = ""
    region: str = ""
    create_bucket: bool = False

    def __str__(self) -> str:
        return f"the bucket {self.bucket} at {self.endpoint_url or 'Amazon S3'}"
