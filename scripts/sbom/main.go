// Command sbom writes the bill of materials of a release's programs: the Go modules
// that each was built from, as the linker wrote them into it.
//
//	sbom VERSION OWNER/REPOSITORY UNIX-TIME PROGRAM… ─► SPDX 2.3 in JSON
//
// scripts/release calls it. The same input gives the same bytes.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/org/claude-sandbox/imagebuild/sbom"
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom: error:", err)
		os.Exit(1)
	}
}

func write(args []string) error {
	if len(args) < 4 {
		return fmt.Errorf("want VERSION OWNER/REPOSITORY UNIX-TIME PROGRAM…")
	}
	seconds, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	release := sbom.Release{Version: args[0], Repository: args[1], Created: time.Unix(seconds, 0), Tool: "sbx-devc-" + args[0]}
	for _, file := range args[3:] {
		program, err := readProgram(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		release.Programs = append(release.Programs, program)
	}
	document, err := release.SPDX()
	if err == nil {
		_, err = os.Stdout.Write(document)
	}
	return err
}

func readProgram(file string) (p sbom.Program, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return p, err
	}
	p.Name = filepath.Base(file)
	if p.SHA256, _, err = v1.SHA256(bytes.NewReader(content)); err != nil {
		return p, err
	}
	p.Modules, err = sbom.GoModules(content)
	return p, err
}
