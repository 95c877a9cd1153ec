package lab

// All returns all ways, family by family.
func All() []Way {
	ways := []Way{
		redisReadWrite(), redisWatch(), redisIncr(), redisLPop(), redisUnitNumber(), redisLua(),
		lockIncrExpire(), lockGetSet(), lockCheckDel(), lockLuaRelease(), lockRushgate(), lockRedlock(),
	}
	for _, d := range dialects() {
		ways = append(ways, sqlReadWrite(d), sqlForUpdate(d), sqlVersion(d), sqlWhereStock(d), sqlUnique(d))
	}
	return append(ways, rushgateMemory(), rushgateRedis())
}
