"""Does Frontera import, and is nothing left behind?"""

import collections
import subprocess
import sys

import pytest

from crawler.frontier.strategy import compat

CHECK = """
import collections, warnings
warnings.simplefilter("error")
from crawler.frontier.strategy import compat
import sys
print(hasattr(collections, "Iterable"), hasattr(sys.modules["w3lib.util"], "to_native_str"))
print(compat.Request(b"http://a/").url)
print("twisted.internet.reactor" in sys.modules)
"""


def test_names_are_there_only_while_importing():
    result = subprocess.run([sys.executable, "-c", CHECK], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "False", "http://a/", "False"]
    assert result.stderr == ""


def test_names_nest_and_are_removed_after_an_error():
    def fail():
        with compat.lost_names():
            with compat.lost_names():
                assert collections.Mapping
            assert collections.Iterable
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not hasattr(collections, "Iterable")
    assert not hasattr(collections, "Mapping")


def test_a_name_that_somebody_else_restored_is_left_alone(monkeypatch):
    monkeypatch.setattr(collections, "Iterable", "theirs", raising=False)
    with compat.lost_names():
        assert collections.Iterable == "theirs"
    assert collections.Iterable == "theirs"


def test_a_strategy_of_its_time_loads(tmp_path, monkeypatch):
    (tmp_path / "old_strategy.py").write_text(
        "from collections import Mapping\nfrom w3lib.util import to_native_str\n"
        "from frontera.strategy.depth import DepthFirstCrawlingStrategy\n"
        "class Old(DepthFirstCrawlingStrategy): pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert issubclass(compat.load_class("old_strategy.Old"), compat.BaseCrawlingStrategy)
