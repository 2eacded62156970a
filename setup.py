"""The egg that scrapyd runs: ``scrapyd-deploy`` calls this file.

No ``install_requires``: scrapyd looks at nothing but the entry point, and its environment has requirements.txt.
"""

import re
from pathlib import Path

from setuptools import find_packages, setup

[VERSION] = re.findall(r'^__version__ = "(.+)"$', Path("crawler/__init__.py").read_text(), re.MULTILINE)

setup(
    name="orbweaver",
    version=VERSION,
    description="A polite, durable, distributed crawler built on Scrapy",
    license="BSD-3-Clause",
    python_requires=">=3.11",
    packages=find_packages(include=["crawler", "crawler.*"]),
    package_data={"crawler": ["**/*.lua", "demo/**/*"]},
    exclude_package_data={"": ["__pycache__/*", "*.pyc"]},
    entry_points={"scrapy": ["settings = crawler.settings"]},
    zip_safe=True,  # data files are read with importlib.resources, never by path
)
