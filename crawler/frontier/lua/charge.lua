-- charge: take one more token of a host that this visit has locked, for a request beside the leased URLs: a script that a
-- page loads in a browser.
--
-- KEYS[1]  the partition's tag
-- ARGV     host, fence, ms since the visit's last fetch began, tokens per ms (0: no limit), burst
-- returns  0 when it is taken, or ms after which to ask again; -1 when the visit is no longer the worker's
--
-- The bucket refills from the last fetch, as in ack: what the visit had leased may have been fetched late.

local tag, host, fence, idle = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local rate, burst = tonumber(ARGV[4]), tonumber(ARGV[5])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- include host

local record = recall(host)
if record[FENCE] ~= fence then return -1 end
local host_rate, bucket = bucket_of(record, rate, burst)
if host_rate == 0 then return 0 end
record[AT] = math.max(record[AT], now - idle)
local tokens = tokens_in(record, host_rate, bucket)
if tokens >= 1 then spend(record, tokens - 1, host_rate, bucket) else record[TOKENS], record[AT] = tokens, now end
remember(host, record)
return tokens >= 1 and 0 or math.ceil((1 - tokens) / host_rate)
