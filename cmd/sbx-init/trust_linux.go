package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

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

// trustOpened makes the programs of this container trust the certificates in the file
// at path, and returns the command's environment. Editors start programs that do not
// get it, so the system's bundle holds the certificates as well. Without the file no
// host is opened, and nothing happens.
func (p *program) trustOpened(path string, environ []string) ([]string, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return environ, nil
	}
	if err := p.writeBundles(path); err != nil {
		return nil, err
	}
	if err := cabundle.AddToSystem(path, "/"); err != nil && !errors.Is(err, cabundle.ErrNoBundle) {
		p.printWarning(fmt.Errorf("programs that an editor starts may not trust the hosts whose TLS is opened: %w", err))
	}
	for _, v := range cabundle.Variables() {
		name, _, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc(environ, func(set string) bool { return strings.HasPrefix(set, name+"=") }) {
			environ = append(environ, v)
		}
	}
	return environ, nil
}
