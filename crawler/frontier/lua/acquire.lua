-- acquire: take a token and the lock of a host for one request that no leased URL stands behind: a redirected
-- robots.txt, a request of a spider on another scheduler, a browser's request. Ended by ack, with nothing in its lists.
--
-- KEYS[1]  the partition's tag
-- ARGV     host, owner, tokens per ms (0: no limit), burst, lock ms
-- returns  {fence, 0}, or {"", ms after which to ask again (-1: the host is blocked for good)}
--
-- Who has to wait is remembered, so that the next visit to end leaves the host to such a request: crawls that have the
-- host in turns would otherwise never let one in. A worker that dies after this step is found by reclaim.

local tag, host, owner = KEYS[1], ARGV[1], ARGV[2]
local rate, burst, lock_ms = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local LOCKED_MS = 100 -- a visit may end at any moment

-- include host

local record = recall(host)
if record[BLOCKED] >= FOREVER then return { '', -1 } end
if record[BLOCKED] > now then return { '', record[BLOCKED] - now } end
if record[FENCE] ~= '' then
    wait_for(record, REQUESTS, '')
    remember(host, record)
    return { '', LOCKED_MS }
end
if record[TURN] ~= '' and record[TURN] ~= REQUESTS and record[TURN_UNTIL] > now then
    wait_for(record, REQUESTS, '')
    remember(host, record)
    return { '', math.min(LOCKED_MS, record[TURN_UNTIL] - now) }
end
local host_rate, bucket = bucket_of(record, rate, burst)
local tokens = tokens_in(record, host_rate, bucket)
if tokens < 1 then
    local wait = math.ceil((1 - tokens) / host_rate)
    record[TURN], record[TURN_UNTIL] = REQUESTS, now + wait + TURN_MS
    remember(host, record)
    return { '', wait }
end

local fence = string.format('%.0f', redis.call('INCR', tag .. ':fence'))
spend(record, tokens - 1, host_rate, bucket)
record[FENCE], record[OWNER], record[CRAWL], record[LOCK] = fence, owner, REQUESTS, lock_ms
record[HELD], record[TURN], record[TURN_UNTIL] = NO_URLS, '', 0
redis.call('ZADD', tag .. ':visits', string.format('%.0f', now + lock_ms), fence .. '|' .. REQUESTS .. '|' .. host)
remember(host, record)
return { fence, 0 }
