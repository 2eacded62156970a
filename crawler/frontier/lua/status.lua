-- status: how a crawl stands in this partition, in one consistent look. Writes nothing.
--
-- KEYS[1]  the partition's tag
-- ARGV     crawl, 1 if pages are crawled again
-- returns  {state, {count name, value, …}, {drop reason, number, …}, {hosts ready, hosts waiting for a time,
--          retries waiting, queued URLs of hosts blocked for good, ms until a retry or host is due (-1: never),
--          hosts being visited, pages that wait to be crawled again, those of them that are due}}

local tag, base = KEYS[1], KEYS[1] .. ':' .. ARGV[1] .. ':'
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local ready, known, due = 0, 0, -1

local function earliest(key)
    local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
    if first[2] then
        local wait = math.max(0, tonumber(first[2]) - now)
        if due < 0 or wait < due then due = wait end
    end
end

for _, class in ipairs({ 'high', 'medium', 'low' }) do
    local key = base .. 'ready:' .. class
    ready = ready + redis.call('ZCOUNT', key, '-inf', now)
    known = known + redis.call('ZCARD', key)
    earliest(key)
end
earliest(base .. 'later')
local again_due = 0
if ARGV[2] == '1' then
    earliest(base .. 'again')
    again_due = redis.call('ZCOUNT', base .. 'again', '-inf', now)
end

local held_back = 0
for _, member in ipairs(redis.call('SMEMBERS', base .. 'blocked')) do
    local class, host = string.match(member, '^(%a+)|(.*)$')
    local size = class and redis.pcall('ZCARD', base .. 'q:' .. class .. ':' .. host)
    if type(size) == 'number' then held_back = held_back + size end -- not so when the key was overwritten
end

local visited = 0 -- no more than all workers hold
for _, visit in ipairs(redis.call('ZRANGE', tag .. ':visits', 0, -1)) do
    if string.match(visit, '^[^|]*|([^|]*)|') == ARGV[1] then visited = visited + 1 end
end

return {
    redis.call('GET', base .. 'state') or '',
    redis.call('HGETALL', base .. 'counts'),
    redis.call('HGETALL', base .. 'drops'),
    { ready, known - ready, redis.call('ZCARD', base .. 'later'), held_back, due, visited,
        redis.call('ZCARD', base .. 'again'), again_due },
}
