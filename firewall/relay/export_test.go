package relay

import (
	"context"
	"crypto/rand"
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

// CheckLeaf signs certificates for the names with the authority's key, past its
// own check, and compares which of them a program would accept. leaf must refuse
// the others as well.
func CheckLeaf(t *testing.T, r *Relay, names map[string]bool) {
	t.Helper()
	a := r.authorities[0]
	roots := x509.NewCertPool()
	roots.AddCert(a.certificate)
	for name, good := range names {
		template := &x509.Certificate{SerialNumber: big.NewInt(9), NotAfter: time.Now().Add(time.Hour)}
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = []net.IP{ip}
		} else {
			template.DNSNames = []string{name}
		}
		der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &a.leafKey.PublicKey, a.key)
		if err != nil {
			t.Fatal(err)
		}
		forged, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := forged.Verify(x509.VerifyOptions{Roots: roots}); (err == nil) != good {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := a.leaf(name); (err == nil) != good {
			t.Errorf("leaf for %s: %v", name, err)
		}
	}
}
