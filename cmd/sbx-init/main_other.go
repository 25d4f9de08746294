//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "sbx-init: error: sbx-init is the init of a Linux container and runs on Linux only")
	os.Exit(70)
}
