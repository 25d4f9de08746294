package main

import (
	"fmt"
	"runtime"

	"github.com/org/claude-sandbox/internal/release"
)

func (p *program) version(args []string) error {
	if len(args) > 0 {
		return usageError("version takes no argument")
	}
	_, err := fmt.Fprintf(p.stdout, "sbx-init %s %s/%s\n", release.Version, runtime.GOOS, runtime.GOARCH)
	return err
}
