"""How long do tests wait for what should come?

Deadlines are for what hangs, and machines differ: the slowest that these tests ran on takes ``SLOWEST`` times as long
as the one that their seconds were chosen on.
"""

SLOWEST = 6
