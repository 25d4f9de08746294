package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/cabundle"
)

// certificates, in the audit log's folder, are those by which the TLS of hosts is
// opened. The file is there when an entry of the policy names operations.
const certificates = "ca.pem"

// writeBundles makes the files that cabundle.Variables name, from the certificates
// in the file at path.
func (p *program) writeBundles(path string) error {
	err := cabundle.Write(cabundle.Folder, path, "/")
	if errors.Is(err, cabundle.ErrNoBundle) {
		p.printWarning(err)
		return nil
	}
	return err
}

// publish makes certificates known: in the file at path, and where the programs are in
// this container to these as well. Editors start programs that do not get the
// command's environment, so the system's bundle holds the certificates, too.
func (p *program) publish(path string, certificates []byte, single bool) error {
	if err := atomicfile.WriteBytes(path, 0o644, certificates); err != nil || !single {
		return err
	}
	if err := p.writeBundles(path); err != nil {
		return err
	}
	if err := cabundle.AddToSystem(path, "/"); err != nil && !errors.Is(err, cabundle.ErrNoBundle) {
		p.printWarning(fmt.Errorf("programs that an editor starts may not trust the hosts whose TLS is opened: %w", err))
	}
	return nil
}

// trusting adds the variables that lead programs to the bundles, but for those that
// somebody has set.
func trusting(environ []string) []string {
	for _, v := range cabundle.Variables() {
		name, _, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc(environ, func(set string) bool { return strings.HasPrefix(set, name+"=") }) {
			environ = append(environ, v)
		}
	}
	return environ
}
