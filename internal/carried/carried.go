// Package carried holds the sbx-init binaries that sbx-devc embeds, so that an
// image build or a run never waits for something to be published.
//
//	scripts/build -> bin/sbx-init-linux-ARCH.gz -> go:embed -> Init(arch)
package carried

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

//go:embed bin
var files embed.FS

// ErrNotCarried reports a sbx-devc that was compiled without scripts/build
// (for example by plain `go build`), or an architecture that is not built.
var ErrNotCarried = errors.New("this sbx-devc carries no sbx-init")

// Init returns the static sbx-init binary for linux/arch, where arch is a Go
// architecture name: "amd64" or "arm64". It returns an error that wraps
// ErrNotCarried when there is none.
func Init(arch string) ([]byte, error) {
	packed, err := Packed(arch)
	if err != nil {
		return nil, err
	}
	zr, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpacking the carried sbx-init: %w", err)
	}
	binary, err := io.ReadAll(zr)
	if err != nil {
		return nil, fmt.Errorf("unpacking the carried sbx-init: %w", err)
	}
	return binary, nil
}

// Packed returns the same binary as it is carried, compressed by gzip.
func Packed(arch string) ([]byte, error) {
	packed, err := files.ReadFile("bin/sbx-init-linux-" + arch + ".gz")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w for linux/%s", ErrNotCarried, arch)
	}
	return packed, err
}

// Sums returns the SHA-256 of each carried binary in lower-case hexadecimal, by
// architecture, as scripts/build wrote them down. It is empty when this program
// carries none.
func Sums() map[string]string {
	sums := map[string]string{}
	for _, arch := range []string{"amd64", "arm64"} {
		if text, err := files.ReadFile("bin/sbx-init-linux-" + arch + ".sha256"); err == nil {
			sums[arch] = strings.TrimSpace(string(text))
		}
	}
	return sums
}
