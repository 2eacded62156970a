"""How fast, how small, how sure? One module per question; ``./run bench`` asks them all."""
