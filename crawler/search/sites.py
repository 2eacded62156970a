"""Under which names is a host found? ``site:python.org`` means all of its hosts; a name without a port means any."""

MOST_LABELS = 32  # of a host name


def list_sites(host: str) -> list[str]:
    """``docs.python.org:8080`` → itself, ``python.org``, ``org``, each with and without the port."""
    name, colon, port = host.lower().rpartition(":")
    if not colon or not port.isdecimal():  # none, or a part of an IPv6 address
        name, port = host.lower(), ""
    labels = name.strip(".").split(".")[-MOST_LABELS:]
    is_address = labels[-1].isdecimal() or name.startswith("[")
    names = [".".join(labels[start:]) for start in range(1 if is_address else len(labels))]
    return [*names, *(f"{name}:{port}" for name in names if port)]
