package cabundle

import (
	"crypto/sha1" //nolint:gosec // the format's; it protects nothing here
	"encoding/binary"
	"encoding/pem"
	"strconv"
)

// keyStore returns the certificates of a bundle as a Java trust store, in the format
// JKS, which every version of Java reads: a header, an entry for each certificate, and
// a checksum with the usual password, "changeit".
func keyStore(bundle []byte) []byte {
	var certificates [][]byte
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			certificates = append(certificates, block.Bytes)
		}
	}
	const magic, version, trusted = 0xfeedfeed, 2, 2
	out := binary.BigEndian.AppendUint32(nil, magic)
	out = binary.BigEndian.AppendUint32(out, version)
	out = binary.BigEndian.AppendUint32(out, uint32(len(certificates)))
	text := func(s string) {
		out = binary.BigEndian.AppendUint16(out, uint16(len(s)))
		out = append(out, s...)
	}
	for i, der := range certificates {
		out = binary.BigEndian.AppendUint32(out, trusted)
		text(strconv.Itoa(i)) // its alias
		out = binary.BigEndian.AppendUint64(out, 0)
		text("X.509")
		out = binary.BigEndian.AppendUint32(out, uint32(len(der)))
		out = append(out, der...)
	}
	sum := sha1.New()
	for _, c := range "changeit" {
		sum.Write([]byte{0, byte(c)})
	}
	sum.Write([]byte("Mighty Aphrodite")) // a constant of the format
	sum.Write(out)
	return sum.Sum(out)
}
