-- renew: a worker says that it is alive and still holds these visits.
--
-- KEYS[1]  the partition's tag
-- ARGV     lock ms, then the visits as fence|crawl|host
-- returns  the fences of those that are no longer its own (reclaimed while it slept)

local tag = KEYS[1]
local clock = redis.call('TIME')
local deadline = string.format('%.0f', clock[1] * 1000 + math.floor(clock[2] / 1000) + ARGV[1])
local lost = {}
for first = 2, #ARGV, 2000 do -- Lua's stack holds no more than about 8,000 arguments
    local last = math.min(first + 1999, #ARGV)
    local found = redis.call('ZMSCORE', tag .. ':visits', unpack(ARGV, first, last))
    local kept = {}
    for i, at in ipairs(found) do
        local member = ARGV[first + i - 1]
        if at then
            kept[#kept + 1], kept[#kept + 2] = deadline, member
        else
            lost[#lost + 1] = string.match(member, '^[^|]*')
        end
    end
    if #kept > 0 then redis.call('ZADD', tag .. ':visits', 'XX', unpack(kept)) end
end
return lost
