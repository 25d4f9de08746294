package relay

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"testing"
	"time"
)

// Connect is connect, for a firewall that asks as it likes.
func (k *KeysProcess) Connect(ctx context.Context, name string, port uint16, offered []string,
	dial func(context.Context) (net.Conn, error)) (net.Conn, string, error) {
	return k.connect(ctx, name, port, offered, dial)
}

// Forge returns a certificate for any name or address, as a thief of what the relay keeps in
// memory could make it.
func Forge(t *testing.T, r *Relay, name string) tls.Certificate {
	t.Helper()
	a := r.authorities[0]
	template := &x509.Certificate{SerialNumber: big.NewInt(9), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &a.leafKey.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der, a.certificate.Raw}, PrivateKey: a.leafKey, Leaf: leaf}
}

// CheckLeaf forges certificates for the names, and compares which of them a program would
// accept. leaf must refuse the others as well.
func CheckLeaf(t *testing.T, r *Relay, roots *x509.CertPool, names map[string]bool) {
	t.Helper()
	chain := x509.NewCertPool()
	chain.AddCert(r.authorities[0].certificate)
	for name, good := range names {
		if _, err := Forge(t, r, name).Leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: chain}); (err == nil) != good {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := r.authorities[0].leaf(name); (err == nil) != good {
			t.Errorf("leaf for %s: %v", name, err)
		}
	}
}

// LoseMemory makes judges fail that remember.
func LoseMemory(r *Relay) { r.options.Memory = nil }

// MaxRequests is maxRequests.
const MaxRequests = maxRequests
