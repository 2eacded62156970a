-- similar: which page has nearly the same text? Two simhashes that differ in at most three of their 64 bits are equal in
-- at least one of their four quarters: each quarter has a table, and in it a list of the pages that have this quarter.
-- A list is cut to its newest pages, so that a quarter that half the web shares costs no more than others.
--
-- KEYS[1]  the partition's tag
-- ARGV     crawl, most pages of a list, most bits that differ,
--          then of each: table and quarter ("2:51966"), simhash (8 bytes), id of the page (8 bytes)
-- returns  of each: the id of a page that is similar, or ""

local base, most, most_bits = KEYS[1] .. ':' .. ARGV[1] .. ':near:', tonumber(ARGV[2]) * 16, tonumber(ARGV[3])
local answers = {}

local bits_of = {[0] = 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4} -- of half a byte

local function distance(a, b, from)
    local bits = 0
    for i = 1, 8 do
        local differing = bit.bxor(string.byte(a, i), string.byte(b, from + i))
        bits = bits + bits_of[bit.band(differing, 15)] + bits_of[bit.rshift(differing, 4)]
        if bits > most_bits then break end
    end
    return bits
end

for i = 4, #ARGV, 3 do
    local key, simhash, id = base .. ARGV[i], ARGV[i + 1], ARGV[i + 2]
    local list, found, is_there = redis.call('GET', key) or '', '', false
    for from = 0, #list - 16, 16 do
        local other = string.sub(list, from + 9, from + 16)
        if other == id then
            is_there = true
        elseif found == '' and distance(simhash, list, from) <= most_bits then
            found = other
        end
    end
    if not is_there then redis.call('SET', key, string.sub(list .. simhash .. id, -most)) end
    answers[#answers + 1] = found
end
return answers
