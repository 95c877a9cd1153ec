// Package testenv starts real servers for tests and measurements: each one
// private, on a free port, in a temporary folder, and ended with the test. A
// server that is not installed is a failed test, never a skipped one; the
// message says what to install. (install.sh beside this file installs them on
// Debian; `make servers` calls it.)
package testenv
