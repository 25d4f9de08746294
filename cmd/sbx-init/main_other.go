//go:build !linux

package main

import (
	"fmt"
	"os"

	"github.com/org/claude-sandbox/internal/exitcode"
)

func main() {
	fmt.Fprintln(os.Stderr, "sbx-init: error: sbx-init is the init of a Linux container and runs on Linux only")
	os.Exit(exitcode.Internal)
}
