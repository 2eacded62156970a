-- bury: queue entries that are no entries of ours are dead. For audit; a worker that leases one says so with ack.
--
-- KEYS[1]  the partition's tag
-- ARGV     crawl, class, host ("": the class is the name of a list, of retries or of pages to be crawled again),
--          then the entries
-- returns  how many were there

local tag, host = KEYS[1], ARGV[3]
local base = KEYS[1] .. ':' .. ARGV[1] .. ':'
local queue = host == '' and base .. ARGV[2] or base .. 'q:' .. ARGV[2] .. ':' .. host
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- include host

local graves = {}
for i = 4, #ARGV do
    if redis.call('ZREM', queue, ARGV[i]) == 1 then
        graves[#graves + 1], graves[#graves + 2] = ARGV[i], epitaph('poisoned', now, host, '', ARGV[i])
    end
end
local buried = #graves / 2
if buried > 0 then
    put_away(base, graves)
    redis.call('HINCRBY', base .. 'counts', 'queued', -buried)
    redis.call('HINCRBY', base .. 'counts', 'dead', buried)
    redis.call('HINCRBY', base .. 'counts', 'dead:poisoned', buried)
end
return buried
