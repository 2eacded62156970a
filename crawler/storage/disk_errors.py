"""What does an error of the file system mean for a crawl: may waiting help, or must somebody do something?"""

import errno
from pathlib import Path

from crawler.errors import EngineRefused, EngineUnavailable

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_WRONG = {errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EXDEV, errno.EISDIR}


def explain(error: OSError, root: Path) -> EngineUnavailable | EngineRefused:
    what = error.strerror or str(error)
    if error.errno in _FULL:
        return EngineUnavailable(f"the store in {root} is full ({what}): make room there, or set STORE_URL elsewhere")
    if error.errno in _FORBIDDEN:
        return EngineRefused(f"the store in {root} cannot be used ({what}): give this user the right to write there")
    if error.errno in _WRONG:
        return EngineRefused(f"the store in {root} cannot be used: {error}; something else is in the way there")
    return EngineUnavailable(f"the store in {root} does not answer: {error}")
