-- budget: how many more pages may this crawl fetch? One key for the whole crawl, apart from the partitions, so
-- that a cap on all pages holds on Redis Cluster too. Workers reserve before they lease and settle before they
-- ack: a crash in between can make a crawl stop short of its cap, and never makes it go over.
--
-- KEYS[1]  the budget's key
-- ARGV     "reserve", worker, wanted, cap        → pages granted
--          "settle", worker, pages, given back   → pages spent so far
--          "forget", worker                      → pages that the dead worker had reserved

-- In Lua -0 is not 0, and Redis does not know it: hence 0 - used, and not -used.

local key, act, worker = KEYS[1], ARGV[1], ARGV[2]
local mine = 'reserved:' .. worker
if act == 'reserve' then
    local sums = redis.call('HMGET', key, 'spent', 'reserved')
    local free = tonumber(ARGV[4]) - tonumber(sums[1] or 0) - tonumber(sums[2] or 0)
    local granted = math.max(0, math.min(free, tonumber(ARGV[3])))
    if granted > 0 then
        redis.call('HINCRBY', key, 'reserved', granted)
        redis.call('HINCRBY', key, mine, granted)
    end
    return granted
elseif act == 'settle' then
    local pages = tonumber(ARGV[3])
    local used = math.min(pages + tonumber(ARGV[4]), tonumber(redis.call('HGET', key, mine) or 0))
    redis.call('HINCRBY', key, 'reserved', 0 - used)
    redis.call('HINCRBY', key, mine, 0 - used)
    return redis.call('HINCRBY', key, 'spent', pages)
end
local left = tonumber(redis.call('HGET', key, mine) or 0)
redis.call('HINCRBY', key, 'reserved', 0 - left)
redis.call('HDEL', key, mine)
return left
