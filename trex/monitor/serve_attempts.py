"""Limits wrong tokens: after several, the server ignores further tokens of the same address for a while."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

BURST = 10  # wrong tokens of an address before it is limited
EVERY_S = 6.0  # one more attempt after each such interval
MAX_ADDRESSES = 10_000  # remembered at most
NETWORK = 64  # prefix length of an IPv6 network that one customer owns
Clock = Callable[[], float]


class Attempts:
    """A bucket of `BURST` wrong tokens per address, refilled by one every `EVERY_S` seconds."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._until: OrderedDict[str, float] = OrderedDict()  # when the address's bucket is full again

    def wait_s(self, address: str) -> float:
        """Seconds until the server reads the next token of this address; 0.0 if it does so now."""
        debt = self._until.get(_network(address), 0.0) - self._clock()
        return max(0.0, debt - (BURST - 1) * EVERY_S)

    def wrong(self, address: str) -> None:
        """Count a wrong token of this address."""
        name, now = _network(address), self._clock()
        self._until[name] = max(self._until.get(name, now), now) + EVERY_S
        self._until.move_to_end(name)
        if len(self._until) > MAX_ADDRESSES:
            self._until.popitem(last=False)


def _network(address: str) -> str:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 6:
        return str(ipaddress.ip_network((found, NETWORK), strict=False))
    return str(found)
