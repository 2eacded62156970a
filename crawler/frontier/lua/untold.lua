-- untold: deaths that the event log has not been told of. Whoever gets them tells them, then takes them from the list.
-- If it dies before that, they are given to somebody else after a while: told twice perhaps, and never not at all.
--
-- KEYS[1]  the partition's tag
-- ARGV     crawl, how many, ms until they are given to somebody else
-- returns  {id, what is written about it, …}

local base = KEYS[1] .. ':' .. ARGV[1] .. ':'
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local ids = redis.call('ZRANGEBYSCORE', base .. 'untold', '-inf', now, 'LIMIT', 0, ARGV[2])
if #ids == 0 then return {} end

local answer, claims = {}, {}
local graves = redis.call('HMGET', base .. 'dead', unpack(ids))
for i, id in ipairs(ids) do
    claims[#claims + 1], claims[#claims + 2] = now + ARGV[3], id
    answer[#answer + 1], answer[#answer + 2] = id, graves[i] or ''
end
redis.call('ZADD', base .. 'untold', unpack(claims))
return answer
