-- bodies: who has a page with just this body? The first to claim it keeps it, and says so when it is kept; others link
-- to that. A claim runs out if its worker dies.
--
-- KEYS[1]  the partition's tag
-- ARGV     crawl, "claim" or "keep", ms that a claim lasts,
--          then of each page: store and bucket, hash of the body, id and day of the page as 12 bytes
-- returns  for "claim", of each page: "" if it is to be kept, "?" if it has claimed the body before and did not say that
--          it was kept, "-" if it is to be kept although another page is being kept for this body at this moment, or
--          the 12 bytes of the page that has the body: perhaps of itself, when it was fetched before on this day

local base, act = KEYS[1] .. ':' .. ARGV[1] .. ':', ARGV[2]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local claim = string.format('%.0f', now + ARGV[3])
local answers = {}

-- Twelve bytes once the page is kept; before that also until when it is claimed.
local function look(key, hash, page)
    local value = redis.call('HGET', key, hash)
    local until_ms = value and tonumber(string.sub(value, 13))
    if value and not until_ms then return value end
    local is_own = value and string.sub(value, 1, 8) == string.sub(page, 1, 8)
    if value and not is_own and until_ms > now then return '-' end
    redis.call('HSET', key, hash, page .. claim)
    return is_own and '?' or ''
end

for i = 4, #ARGV, 3 do
    local key, hash, page = base .. 'bodies:' .. ARGV[i], ARGV[i + 1], ARGV[i + 2]
    if act == 'claim' then
        answers[#answers + 1] = look(key, hash, page)
    else
        redis.call('HSET', key, hash, page)
    end
end
return answers
