package redis

// fakeTimeLua stands in the place of time.lua: the time is the last argument,
// and keys stay, since their server's own clock does not go as the test's does.
const fakeTimeLua = `
local function clock() return tonumber(ARGV[#ARGV]) end
local function life(us) return us > 0 and 600000 or 0 end
`

// Tell lets a limiter decide at the times of a test.
func (l *Limiter) Tell(micros func() int64) {
	l.clock, l.script = micros, newScript(fakeTimeLua, oneLua, l.rules)
}

// Tell lets a joint decide at the times of a test.
func (j *Joint) Tell(micros func() int64) {
	j.clock, j.script = micros, newScript(fakeTimeLua, decideLua, j.rules)
}
