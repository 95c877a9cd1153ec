package clustertest

const childMoment = "CLUSTERTEST_CHILD"

func childMain(string) int { return 1 }
