package relay

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/org/claude-sandbox/firewall/operation"
)

const (
	// authorityLife is longer than a run, and about as long as a dev container is
	// kept. The key is gone with the process.
	authorityLife = 90 * 24 * time.Hour
	leafLife      = 24 * time.Hour
	maxLeaves     = 256
	clockSkew     = time.Hour
)

// authority is a certificate authority for one sandbox, in memory. It is safe for
// concurrent use.
type authority struct {
	root        *x509.Certificate // what programs trust; its key is not kept
	certificate *x509.Certificate // of key
	key         *ecdsa.PrivateKey
	leafKey     *ecdsa.PrivateKey

	mu     sync.Mutex
	leaves map[string]*tls.Certificate // by name
}

// newAuthority makes an authority whose certificates are good for these hosts
// alone: their name constraints are critical (RFC 5280 section 4.2.1.10), and they
// exclude every address. Java reads constraints in the certificates that stand below the
// one that it trusts, and not in that one (RFC 5280 section 6.2 leaves this open). So the
// root certifies one authority with the same constraints, and its key is forgotten here.
func newAuthority(hosts []operation.Host) (*authority, error) {
	fail := func(err error) (*authority, error) {
		return nil, fmt.Errorf("making the sandbox's certificate: %w", err)
	}
	var keys [3]*ecdsa.PrivateKey
	for i := range keys {
		var err error
		if keys[i], err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			return fail(err)
		}
	}
	a := &authority{key: keys[1], leafKey: keys[2], leaves: map[string]*tls.Certificate{}}
	template := &x509.Certificate{
		Subject:                     pkix.Name{CommonName: "claude-sandbox: opened hosts of one sandbox"},
		NotBefore:                   time.Now().Add(-clockSkew),
		NotAfter:                    time.Now().Add(authorityLife),
		IsCA:                        true,
		BasicConstraintsValid:       true,
		MaxPathLen:                  1,
		KeyUsage:                    x509.KeyUsageCertSign,
		ExtKeyUsage:                 []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		PermittedDNSDomainsCritical: true,
		ExcludedIPRanges:            []*net.IPNet{allAddresses(net.IPv4len), allAddresses(net.IPv6len)},
	}
	for _, h := range hosts {
		if !slices.Contains(template.PermittedDNSDomains, h.Name) {
			template.PermittedDNSDomains = append(template.PermittedDNSDomains, h.Name)
		}
	}
	if len(template.PermittedDNSDomains) == 0 { // without any the certificate would be good for every name
		return fail(errors.New("no host is opened"))
	}
	var err error
	if a.root, err = certify(template, template, &keys[0].PublicKey, keys[0]); err != nil {
		return fail(err)
	}
	template.Subject.CommonName, template.MaxPathLen, template.MaxPathLenZero = "claude-sandbox: authority of one sandbox", 0, true
	if a.certificate, err = certify(template, a.root, &a.key.PublicKey, keys[0]); err != nil {
		return fail(err)
	}
	return a, nil
}

// certify makes a certificate with a serial number of its own.
func certify(template, parent *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	template.SerialNumber = newSerial()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// pem is the certificate for programs to trust.
func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.root.Raw})
}

// covers reports whether the authority's certificate is good for a canonical name.
func (a *authority) covers(name string) bool {
	return slices.ContainsFunc(a.certificate.PermittedDNSDomains, func(d string) bool {
		return name == d || strings.HasSuffix(name, "."+d)
	})
}

// leaf returns a certificate for exactly one canonical name.
func (a *authority) leaf(name string) (*tls.Certificate, error) {
	if !a.covers(name) {
		return nil, fmt.Errorf("the sandbox's certificate is not good for %s", name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if c := a.leaves[name]; c != nil && now.Before(c.Leaf.NotAfter.Add(-leafLife/2)) {
		return c, nil
	}
	parsed, err := certify(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "claude-sandbox"},
		DNSNames:    []string{name},
		NotBefore:   now.Add(-clockSkew),
		NotAfter:    now.Add(leafLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.certificate, &a.leafKey.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("making a certificate for %s: %w", name, err)
	}
	if len(a.leaves) >= maxLeaves { // a wildcard's names are as many as a program likes
		clear(a.leaves)
	}
	c := &tls.Certificate{Certificate: [][]byte{parsed.Raw, a.certificate.Raw}, PrivateKey: a.leafKey, Leaf: parsed}
	a.leaves[name] = c
	return c, nil
}

// SystemRoots are the authorities that this machine trusts. It errs when there are
// none, because no host could be verified.
func SystemRoots() (*x509.CertPool, error) {
	roots, err := x509.SystemCertPool()
	if err == nil && roots.Equal(x509.NewCertPool()) {
		err = errors.New("this machine has no certificates of authorities (package ca-certificates)")
	}
	return roots, err
}

func allAddresses(length int) *net.IPNet {
	return &net.IPNet{IP: make(net.IP, length), Mask: make(net.IPMask, length)}
}

func newSerial() *big.Int {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // it never fails, see crypto/rand
	raw[0] &= 0x7f           // a serial number is positive
	return new(big.Int).SetBytes(raw[:])
}
