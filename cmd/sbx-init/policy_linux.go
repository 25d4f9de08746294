package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/live"
	"github.com/org/claude-sandbox/initproc/tamper"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/settings"
)

// maxPolicyBytes bounds the size of a policy file and of each list it names.
const maxPolicyBytes = 1 << 20

// policyFile is a policy file that was understood.
type policyFile struct {
	network firewall.Network
	secrets []settings.Secret
	live.Policy
}

// loadPolicy reads the policy file at path and the lists that it names. With
// who set, each of these files must be out of that user's reach. Names may not
// lead to the networks around the machine nor to those of more. Findings go
// to stderr, all of them, and the error then carries exit code 65.
func (p *program) loadPolicy(path string, who *tamper.Who, more []netip.Prefix) (policyFile, error) {
	src, err := readPolicyFile(path, who)
	if err != nil {
		return policyFile{}, err
	}
	return p.judgePolicy(settings.ParseFile(path, src, listsOf(path, who)), more)
}

// listsOf reads the lists that the policy file at path names.
func listsOf(path string, who *tamper.Who) settings.FileReader {
	return func(name string) ([]byte, error) {
		if !filepath.IsLocal(name) {
			return nil, errors.New("the name leads out of the policy file's folder")
		}
		return readPolicyFile(filepath.Join(filepath.Dir(path), name), who)
	}
}

// judgePolicy is loadPolicy for a file that has been read.
func (p *program) judgePolicy(file *settings.File, more []netip.Prefix) (policyFile, error) {
	if len(file.Findings) > 0 {
		if err := diag.WriteText(p.stderr, file.Findings); err != nil {
			return policyFile{}, err
		}
	}
	if file.Settings == nil {
		err := fmt.Errorf("the policy file %s is wrong", file.Path)
		return policyFile{}, exitWith(exitcode.Config, diag.WithHint(err, "correct the places above; nothing was opened"))
	}
	around, err := live.Around(more)
	if err != nil {
		return policyFile{}, err
	}
	hash := sha256.New()
	hash.Write(file.Source)
	for _, name := range slices.Sorted(maps.Keys(file.Lists)) {
		hash.Write(file.Lists[name])
	}
	sum, parsed := hex.EncodeToString(hash.Sum(nil)), file.Settings
	return policyFile{parsed.Network, parsed.Secrets, live.Policy{
		Policy: parsed.Policy().Around(around), File: file.Path, SHA256: sum, Around: around}}, nil
}

// readPolicyFile reads one file, after it made sure that who cannot change it.
func readPolicyFile(path string, who *tamper.Who) ([]byte, error) {
	var src []byte
	var err error
	if who != nil {
		err = who.Check(path)
	}
	if errors.Is(err, tamper.ErrUnsafe) {
		return nil, diag.WithHint(fmt.Errorf("the policy file %w", err), "let root own the file and its folders, or mount it read-only")
	}
	if err == nil {
		src, err = filekind.Read(path, maxPolicyBytes)
	}
	if err == nil {
		return src, nil
	}
	err = fmt.Errorf("reading the policy file %s: %w", path, err)
	if errors.Is(err, os.ErrNotExist) {
		err = diag.WithHint(err, "give the path inside the container: --policy FILE")
	}
	return nil, err
}
