package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// versionCmd prints what this binary is.
type versionCmd struct{}

// Help teaches.
func (*versionCmd) Help() string {
	return `  $ rushgate version
  rushgate v0.1.0 (go1.26, linux/amd64)`
}

// Run prints the version.
func (*versionCmd) Run(w world) error {
	_, err := fmt.Fprintf(w.out, "rushgate %s\n", version())
	return err
}

// version is what the Go toolchain wrote into the binary.
func version() string {
	version, revision := "(unknown)", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				revision = s.Value[:12] + ", "
			}
		}
	}
	return fmt.Sprintf("%s (%s%s, %s/%s)", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
