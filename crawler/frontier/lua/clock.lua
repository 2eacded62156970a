-- clock: what time is it? For pages, of whose versions the one with the later time is the newer, whoever fetched them.
--
-- KEYS[1]  a partition's tag
-- returns  seconds since 1970, and microseconds

return redis.call('TIME')
