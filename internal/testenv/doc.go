// Package testenv starts real servers for tests and measurements: each one
// private, on a free port, in a temporary folder, and ended with the test. A
// server that is not installed is a failed test, never a skipped one; the
// message says what to install. (install.sh beside this file installs them on
// Debian; `make servers` calls it.)
//
// PostgreSQL, MariaDB and Redis start one server for one test, StartPostgres,
// StartMariaDB and StartRedis one that the caller stops, and SharedPostgres and
// its sisters one for all tests of a package, in which NewDatabase gives each
// test a database of its own. By default the databases acknowledge only what is
// on the disk, and Redis keeps nothing; settings in each server's own words say
// otherwise.
//
// Every server can be stopped, killed, started again on the same port with the
// same data, paused and resumed: see Server. RedisReplica, RedisPair, RedisSentinel
// and RedisCluster start several Redis that belong together, and say who is
// master. NewProxy puts a network in front of a server that can be cut, slow, or
// lose what it carries.
package testenv
