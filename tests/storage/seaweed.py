"""A real S3 server for tests, on loopback, that never outlives the test run."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from crawler.embedded.keeper import die_with_parent
from tests.servers import _spawner, free_port, wait_until

ACCESS_KEY, SECRET_KEY = "crawler", "secret-of-the-crawler"
# SeaweedFS creates missing buckets for whoever may create them: to see NoSuchBucket, somebody must not.
WRITER_KEY, WRITER_SECRET = "writer", "secret-of-the-writer"
BUCKET = "pages-bucket"
_ACTIONS = ["Admin", "Read", "Write", "List", "Tagging"]
_PORTS = ("s3", "master", "volume", "filer", "admin")


def find_weed() -> str | None:
    beside = Path(sys.executable).with_name("weed")
    return str(beside) if beside.exists() else shutil.which("weed")


class S3Server:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        identities = [
            {"name": "crawler", "credentials": [_pair(ACCESS_KEY, SECRET_KEY)], "actions": _ACTIONS},
            {"name": "writer", "credentials": [_pair(WRITER_KEY, WRITER_SECRET)], "actions": ["Write:other", "List"]},
        ]
        config = self.directory / "s3.json"
        config.write_text(json.dumps({"identities": identities}))
        weed = find_weed()
        assert weed is not None
        command = [weed, "mini", f"-dir={self.directory}", "-master.telemetry=false", "-ip=127.0.0.1"]
        command += ["-ip.bind=127.0.0.1", "-admin.ui=false", "-webdav=false", "-s3.port.iceberg=0", "-s3.port.lance=0"]
        command += [f"-s3.config={config}"]
        for name in _PORTS:
            command += [
                f"-{name}.port={self.port if name == 's3' else free_port()}",
                f"-{name}.port.grpc={free_port()}",
            ]
        parent_pid = os.getpid()
        with (self.directory / "server.log").open("ab") as log:
            self.process = _spawner.submit(
                subprocess.Popen, command, stdout=log, stderr=log, cwd=self.directory,
                preexec_fn=lambda: die_with_parent(parent_pid),
            ).result()  # fmt: skip
        wait_until(self._serves, "an S3 server; see server.log", 60)
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def client(self) -> Any:
        return boto3.client(
            "s3", endpoint_url=self.url, region_name="us-east-1", aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            config=Config(connect_timeout=1, read_timeout=5, retries={"max_attempts": 0}),
        )  # fmt: skip

    def _serves(self) -> bool:
        """It says that it is healthy before it can keep anything."""
        assert self.process is not None
        assert self.process.poll() is None, (self.directory / "server.log").read_text()[-2000:]
        client = self.client()
        try:
            with contextlib.suppress(client.exceptions.BucketAlreadyExists):
                client.create_bucket(Bucket=BUCKET)
            client.put_object(Bucket=BUCKET, Key="probe", Body=b"probe")
            return client.get_object(Bucket=BUCKET, Key="probe")["Body"].read() == b"probe"
        except (BotoCoreError, ClientError):
            return False


def _pair(access_key: str, secret_key: str) -> dict[str, str]:
    return {"accessKey": access_key, "secretKey": secret_key}
