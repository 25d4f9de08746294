// Command sign attests a digest as GitHub's attestation service does for a
// workflow, under an authority of its own, so that the real gh can check it on
// a machine that reaches nobody:
//
//	sign DIGEST OWNER/REPOSITORY DIR ─► DIR/bundle.json, DIR/trusted_root.jsonl
//
// Its module also pins cosign and gh; scripts/sign-tools builds all three.
package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/digitorus/timestamp"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "sign: error: want DIGEST OWNER/REPOSITORY DIR")
		os.Exit(2)
	}
	if err := attest(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "sign: error:", err)
		os.Exit(1)
	}
}

// object is a JSON object.
type object = map[string]any

func attest(digest, repository, dir string) error {
	begin := time.Now().Add(-time.Hour)
	authority, err := newCert("Test Authority", begin, nil, func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	})
	if err != nil {
		return err
	}
	leaf, err := newCert("", begin, authority, func(c *x509.Certificate) {
		workflow := &url.URL{Scheme: "https", Host: "github.com", Path: "/" + repository + "/.github/workflows/images.yml@refs/heads/main"}
		c.URIs = []*url.URL{workflow}
		c.KeyUsage, c.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}
		owner, _, _ := strings.Cut(repository, "/")
		// Fulcio's extensions: issuer, who built, source repository, its owner, what
		// configured the build.
		for number, value := range map[int]string{
			8: "https://token.actions.githubusercontent.com", 9: workflow.String(),
			12: "https://github.com/" + repository, 16: "https://github.com/" + owner, 18: workflow.String(),
		} {
			der, _ := asn1.MarshalWithParams(value, "utf8") // texts always encode
			c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, number}, Value: der})
		}
	})
	if err != nil {
		return err
	}
	clock, err := newCert("Test Clock", begin, authority, func(c *x509.Certificate) {
		c.KeyUsage = x509.KeyUsageDigitalSignature
		// RFC 3161 wants this usage alone, and critical.
		der, _ := asn1.Marshal([]asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 8}})
		c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: true, Value: der}}
	})
	if err != nil {
		return err
	}

	envelope, signature, err := provenance(leaf, digest)
	if err != nil {
		return err
	}
	signed := sha256.Sum256(signature)
	token := timestamp.Timestamp{HashAlgorithm: crypto.SHA256, HashedMessage: signed[:], Time: time.Now(),
		Policy: asn1.ObjectIdentifier{1, 2, 3}}
	stamp, err := token.CreateResponseWithOpts(clock.cert, clock.key, crypto.SHA256)
	if err != nil {
		return err
	}
	chain := func(certs ...*keyed) object {
		var list []object
		for _, c := range certs {
			list = append(list, object{"rawBytes": c.cert.Raw})
		}
		return object{
			"subject": object{"organization": "Test", "commonName": "Test"}, "uri": "https://authority.example",
			"certChain": object{"certificates": list}, "validFor": object{"start": begin.UTC().Format(time.RFC3339)},
		}
	}
	err = write(filepath.Join(dir, "bundle.json"), object{
		"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
		"verificationMaterial": object{
			"certificate":               object{"rawBytes": leaf.cert.Raw},
			"timestampVerificationData": object{"rfc3161Timestamps": []object{{"signedTimestamp": stamp}}},
		},
		"dsseEnvelope": envelope,
	})
	if err != nil {
		return err
	}
	return write(filepath.Join(dir, "trusted_root.jsonl"), object{
		"mediaType":              "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
		"certificateAuthorities": []object{chain(authority)}, "timestampAuthorities": []object{chain(clock, authority)},
	})
}

// provenance is a signed statement that an image of this digest was built.
func provenance(by *keyed, digest string) (envelope object, signature []byte, err error) {
	algorithm, hex, _ := strings.Cut(digest, ":")
	payload, err := json.Marshal(object{
		"_type": "https://in-toto.io/Statement/v1", "predicateType": "https://slsa.dev/provenance/v1", "predicate": object{},
		"subject": []object{{"name": "image", "digest": object{algorithm: hex}}},
	})
	if err != nil {
		return nil, nil, err
	}
	const payloadType = "application/vnd.in-toto+json"
	sum := sha256.Sum256(fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload))
	signature, err = ecdsa.SignASN1(rand.Reader, by.key, sum[:])
	if err != nil {
		return nil, nil, err
	}
	return object{"payload": payload, "payloadType": payloadType, "signatures": []object{{"sig": signature}}}, signature, nil
}

// write writes one line of JSON.
func write(file string, value object) error {
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(value); err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}

type keyed struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newCert makes a key and its certificate, valid for a day; nil = signed by
// itself.
func newCert(name string, begin time.Time, by *keyed, edit func(*x509.Certificate)) (*keyed, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(begin.UnixNano()), NotBefore: begin, NotAfter: begin.Add(24 * time.Hour)}
	if name != "" {
		template.Subject = pkix.Name{Organization: []string{"Test"}, CommonName: name}
	}
	edit(template)
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &keyed{cert, key}, err
}
