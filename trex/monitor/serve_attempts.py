"""Limits wrong tokens: after some, their address has to wait before another one is read."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

AT_ONCE = 10  # wrong tokens of an address before it has to wait
EVERY_S = 6.0  # one more attempt after each such interval
ADDRESSES = 10_000  # remembered at most
NETWORK = 64  # prefix length of an IPv6 network that one customer owns
Clock = Callable[[], float]


class Attempts:
    """A bucket of `AT_ONCE` wrong tokens per address, refilled by one every `EVERY_S` seconds."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._until: OrderedDict[str, float] = OrderedDict()  # when the address's bucket is full again

    def wait_s(self, address: str) -> float:
        """Seconds until a token of this address is read; 0.0 if at once."""
        debt = self._until.get(_network(address), 0.0) - self._clock()
        return max(0.0, debt - (AT_ONCE - 1) * EVERY_S)

    def wrong(self, address: str) -> None:
        """Count a wrong token of this address."""
        name, now = _network(address), self._clock()
        self._until[name] = max(self._until.get(name, now), now) + EVERY_S
        self._until.move_to_end(name)
        if len(self._until) > ADDRESSES:
            self._until.popitem(last=False)


def _network(address: str) -> str:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 6:
        return str(ipaddress.ip_network((found, NETWORK), strict=False))
    return str(found)
