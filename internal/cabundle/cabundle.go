// Package cabundle makes the programs of a container trust the certificates by
// which the firewall opens the TLS of hosts, in addition to what the image trusts.
//
//	certificates (firewall's process) ─┬──────────────────► Folder/sandbox.pem  for variables that add
//	the image's own bundle ────────────┴─► one after another ─► Folder/bundle.pem  for variables that replace
//	                                                         ├─► Folder/bundle.jks  the same for Java
//	                                                         └─► Folder/wgetrc, Folder/php/sandbox.ini: settings that name it
//
// The certificates are good for the opened hosts alone, see package relay, so it
// does no harm where a program trusts them for good.
package cabundle

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/org/claude-sandbox/internal/atomicfile"
)

// Folder is where the files are in a container.
const Folder = "/run/sbx-trust"

const (
	added  = "sandbox.pem"
	bundle = "bundle.pem"
	store  = "bundle.jks"
	wget   = "wgetrc"
	php    = "php/sandbox.ini"
)

// Variables lead programs to the files in Folder, as NAME=value.
func Variables() []string {
	whole, more := Folder+"/"+bundle, Folder+"/"+added
	return []string{
		"SSL_CERT_FILE=" + whole,      // OpenSSL, Go, Rust, Ruby, PHP, .NET; httpx, aiohttp, uv
		"CURL_CA_BUNDLE=" + whole,     // curl, and what is built on it
		"GIT_SSL_CAINFO=" + whole,     // git, with OpenSSL and GnuTLS
		"REQUESTS_CA_BUNDLE=" + whole, // Python's requests
		"PIP_CERT=" + whole,           //
		"CARGO_HTTP_CAINFO=" + whole,  //
		"AWS_CA_BUNDLE=" + whole,      // the AWS command line and its libraries
		"BUNDLE_SSL_CA_CERT=" + whole, // Ruby's bundler
		"COMPOSER_CAFILE=" + whole,    // PHP
		"HEX_CACERTS_PATH=" + whole,   // Elixir
		"NIX_SSL_CERT_FILE=" + whole,  //
		"HTTPLIB2_CA_CERTS=" + whole,  // Python
		"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE=" + whole,
		"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH=" + whole,
		"NODE_EXTRA_CA_CERTS=" + more, // Node, npm, pnpm, yarn, Bun, Claude Code
		"DENO_CERT=" + more,
		"JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore=" + Folder + "/" + store, // every JVM
		"WGETRC=" + Folder + "/" + wget,                                        // wget with GnuTLS knows no variable for authorities
		"PHP_INI_SCAN_DIR=:" + Folder + "/" + path.Dir(php),                    // PHP's curl; "" is its own folder
	}
}

// systemBundles are where distributions keep what their programs trust.
var systemBundles = []string{
	"/etc/ssl/certs/ca-certificates.crt",                // Debian, Alpine, Arch
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // Fedora, RHEL
	"/etc/pki/tls/certs/ca-bundle.crt",                  // their older ones
	"/etc/ssl/ca-bundle.pem",                            // SUSE
	"/etc/ssl/cert.pem",                                 // Alpine, macOS
}

// ErrNoBundle means that the image trusts no authority that could be found: only
// opened hosts can be verified there.
var ErrNoBundle = errors.New("the image has no certificates of authorities, so only hosts whose TLS is opened can be verified in it")

// Write makes the files in dir, which is Folder but for tests, from the
// certificates in the file from and the bundle of the file system below root.
// With ErrNoBundle it has made them all the same.
func Write(dir, from, root string) error {
	fail := func(err error) error { return fmt.Errorf("making programs trust the sandbox's certificates: %w", err) }
	certificates, err := os.ReadFile(from)
	if err != nil {
		return fail(err)
	}
	if block, _ := pem.Decode(certificates); block == nil {
		return fail(fmt.Errorf("%s holds none", from))
	}
	return writeFiles(dir, certificates, root)
}

// writeFiles is Write for certificates, of which there may be none.
func writeFiles(dir string, certificates []byte, root string) error {
	fail := func(err error) error { return fmt.Errorf("making programs trust the sandbox's certificates: %w", err) }
	own, missing := readSystem(root)
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, php)), 0o755); err != nil {
		return fail(err)
	}
	whole := append(ended(own), certificates...)
	if len(certificates) == 0 { // Bun warns of a file that holds none, so it holds one that is trusted anyway
		if first, _ := pem.Decode(own); first != nil {
			certificates = pem.EncodeToMemory(first)
		}
	}
	for name, text := range map[string][]byte{
		added: certificates, bundle: whole, store: keyStore(whole),
		wget: fmt.Appendf(nil, "ca_certificate = %s\n", filepath.Join(dir, bundle)),
		php:  fmt.Appendf(nil, "curl.cainfo=%s\nopenssl.cafile=%[1]s\n", filepath.Join(dir, bundle)),
	} {
		if err := atomicfile.WriteBytes(filepath.Join(dir, name), 0o444, text); err != nil {
			return fail(err)
		}
	}
	return missing
}

// Around our certificates in a bundle of the system's.
var blockBegin, blockEnd = []byte("# claude-sandbox: opened hosts\n"), []byte("# claude-sandbox: end\n")

// AddToSystem puts the certificates in the file from into the bundle of the file
// system below root, in the place of those of an earlier start. It is for containers
// whose programs do not all get Variables, and needs their root.
func AddToSystem(from, root string) error {
	certificates, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	name, own, err := findSystem(root)
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(name, 0o644, bytes.Join([][]byte{ended(own), blockBegin, certificates, blockEnd}, nil))
}

// readSystem returns the bundle of the file system below root, without ours.
func readSystem(root string) ([]byte, error) {
	_, text, err := findSystem(root)
	return text, err
}

func findSystem(root string) (name string, text []byte, err error) {
	for _, place := range systemBundles {
		name, err := filepath.EvalSymlinks(filepath.Join(root, place))
		if err != nil {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil || len(text) == 0 {
			continue
		}
		before, rest, _ := bytes.Cut(text, blockBegin)
		_, after, _ := bytes.Cut(rest, blockEnd)
		return name, append(bytes.Clone(before), after...), nil
	}
	return "", nil, ErrNoBundle
}

// ended returns text with a line's end behind it, so that nothing runs on.
func ended(text []byte) []byte {
	if len(text) == 0 || bytes.HasSuffix(text, []byte("\n")) {
		return text
	}
	return append(text, '\n')
}
