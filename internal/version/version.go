// Package version holds the version that the linker writes into the binary.
package version

// Version is the build's version, set with -ldflags -X.
var Version = "dev"
