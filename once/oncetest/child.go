package oncetest

import "os"

func IsChild() bool { return os.Getenv("X") != "" }
