"""Wrong tokens, counted by the address that sends them: after some, an address has to wait before the next is read."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

AT_ONCE = 10  # wrong tokens of an address before it has to wait
EVERY_S = 6.0  # after so long one more
ADDRESSES = 10_000  # that are remembered
NETWORK = 64  # bits of an IPv6 address that belong to one customer
Clock = Callable[[], float]


class Attempts:
    """A bucket of `AT_ONCE` wrong tokens for each address, filled again by one every `EVERY_S` seconds."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._until: OrderedDict[str, float] = OrderedDict()  # when the address has its whole bucket again

    def wait_s(self, address: str) -> float:
        """Seconds until a token of this address is read; 0.0: now."""
        debt = self._until.get(_network(address), 0.0) - self._clock()
        return max(0.0, debt - (AT_ONCE - 1) * EVERY_S)

    def wrong(self, address: str) -> None:
        """A token of this address was wrong."""
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
