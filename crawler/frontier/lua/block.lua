-- block: leave a host alone for some time or for good; or end that.
--
-- KEYS[1]  the partition's tag
-- ARGV     host, ms (0: end the block, -1: for good), then the crawls of this Redis
-- returns  1
--
-- Leases of URLs handed out before stay valid; the host is not handed out again.

local tag, host, ms = KEYS[1], ARGV[1], tonumber(ARGV[2])
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- include host

local record = recall(host)
if ms < 0 then
    record[BLOCKED] = FOREVER
elseif ms > 0 then
    record[BLOCKED] = now + ms
else
    record[BLOCKED], record[FAILS] = 0, 0
end
remember(host, record)
-- A host blocked for good left the ready lists when somebody looked at it; any other end of a block brings it back.
if ms >= 0 then
    for i = 3, #ARGV do
        local base = tag .. ':' .. ARGV[i] .. ':'
        for _, class in ipairs({ 'high', 'medium', 'low' }) do
            redis.call('SREM', base .. 'blocked', class .. '|' .. host)
            if redis.call('EXISTS', base .. 'q:' .. class .. ':' .. host) == 1 then
                redis.call('ZADD', base .. 'ready:' .. class, record[BLOCKED] > 0 and record[BLOCKED] or now, host)
            end
        end
    end
end
return 1
