-- describe: how do these hosts stand? For people and their programs. Writes nothing.
--
-- KEYS[1]  the partition's tag
-- ARGV     crawl, then the hosts
-- returns  for each host: {queued high, medium, low, ms until it is ready in high, medium, low (-1: in no ready list),
--          ms it is blocked for (0: not, -1: for good), failures in a row, pages, the worker that visits it, the crawl
--          it does so for, URLs it holds, who waits for it}

local tag, base = KEYS[1], KEYS[1] .. ':' .. ARGV[1] .. ':'
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- include host

local function number(value)
    return type(value) == 'number' and value or 0
end

local answer = {}
for i = 2, #ARGV do
    local host = ARGV[i]
    local record = recall(host)
    local queued, ready = {}, {}
    for class, name in ipairs({ 'high', 'medium', 'low' }) do
        queued[class] = number(redis.pcall('ZCARD', base .. 'q:' .. name .. ':' .. host))
        local at = redis.pcall('ZSCORE', base .. 'ready:' .. name, host)
        ready[class] = type(at) == 'string' and math.max(0, tonumber(at) - now) or -1
    end
    local blocked = math.max(0, record[BLOCKED] - now)
    if record[BLOCKED] >= FOREVER then blocked = -1 end
    local held = record[HELD] == NO_URLS and 0 or #record[HELD] / 8
    local pages = redis.pcall('HGET', base .. 'pages', host)
    answer[#answer + 1] = {
        queued[1], queued[2], queued[3], ready[1], ready[2], ready[3], blocked, record[FAILS],
        type(pages) == 'string' and tonumber(pages) or 0, record[OWNER], record[CRAWL], held, record[WAITING],
    }
end
return answer
