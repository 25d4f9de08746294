package hostname

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Limits of a domain name in its text form (RFC 1035 section 2.3.4; the 255
// octets of the wire form leave 253 characters of text).
const (
	maxName  = 253
	maxLabel = 63
)

// idnaProfile maps as browsers do (UTS 46: case, width, dots) and encodes to
// ASCII. The character check is ours, because the profile's strict form also
// refuses the underscore, which names in use have.
var idnaProfile = idna.New(
	idna.MapForLookup(),
	idna.BidiRule(),
	idna.Transitional(false),
	idna.StrictDomainName(false),
)

// Canonical brings a domain name into the one form that policies,
// queries and answers are compared in: lower case ASCII (IDNA A-labels),
// without the final dot. It is idempotent.
//
// It refuses what is not a name: the empty string, a NUL or any character
// outside letters, digits, "-" and "_", empty or over-long labels, and
// whatever a program could read as an address ("127.1", "0x7f.1", "::1"),
// because such a "name" would never pass the resolver.
func Canonical(s string) (string, error) {
	name := strings.TrimSuffix(s, ".")
	if name == "" {
		return "", errors.New("the name is empty")
	}
	if strings.IndexByte(name, 0) >= 0 {
		// Said on its own: "evil\x00.example.com" reads as one name to Go and
		// as another to C.
		return "", errors.New("the name contains a NUL byte")
	}
	if needsIDNA(name) {
		ascii, err := toASCII(name)
		if err != nil {
			return "", fmt.Errorf("%q is not a valid international name: %w", s, err)
		}
		// The mapping turns other full stops into ".", also a final one.
		name = strings.TrimSuffix(ascii, ".")
	}
	name = lowerASCII(name)
	if err := checkName(name); err != nil {
		return "", fmt.Errorf("%q is not a host name: %w", s, err)
	}
	return name, nil
}

// toASCII encodes an international name, and refuses what would not encode to
// itself again: two forms of one name must not pass as two names.
func toASCII(name string) (string, error) {
	if !utf8.ValidString(name) {
		return "", errors.New("it is not UTF-8")
	}
	ascii, err := idnaProfile.ToASCII(name)
	if err != nil {
		return "", err
	}
	again, err := idnaProfile.ToASCII(ascii)
	if err != nil {
		return "", err
	}
	if again != ascii {
		return "", errors.New("it has more than one encoding")
	}
	return ascii, nil
}

// needsIDNA reports whether name has a character outside ASCII or a label
// that claims to be encoded. Plain ASCII names skip IDNA: its rules refuse
// names that exist, such as those with hyphens in the third and fourth place.
func needsIDNA(name string) bool {
	for i := range len(name) {
		if name[i] >= 0x80 {
			return true
		}
	}
	for label := range strings.SplitSeq(name, ".") {
		if len(label) >= 4 && strings.EqualFold(label[:4], "xn--") {
			return true
		}
	}
	return false
}

func lowerASCII(s string) string {
	for i := range len(s) {
		if c := s[i]; 'A' <= c && c <= 'Z' {
			return strings.ToLower(s)
		}
	}
	return s
}

// ErrNumeric is why a number is no name.
var ErrNumeric = errors.New("it is an address, or would be read as one")

func checkName(name string) error {
	if len(name) > maxName {
		return fmt.Errorf("longer than %d characters", maxName)
	}
	start := 0
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '.' {
			if !nameByte(name[i]) {
				return fmt.Errorf("character %q is not allowed", rune(name[i]))
			}
			continue
		}
		if err := checkLabel(name[start:i]); err != nil {
			return err
		}
		start = i + 1
	}
	if numericEnd(name) {
		return ErrNumeric
	}
	return nil
}

func nameByte(c byte) bool {
	letter, digit := 'a' <= c && c <= 'z', '0' <= c && c <= '9'
	return letter || digit || c == '-' || c == '_'
}

func checkLabel(label string) error {
	switch {
	case label == "":
		return errors.New("a label is empty")
	case len(label) > maxLabel:
		return fmt.Errorf("a label is longer than %d characters", maxLabel)
	case label[0] == '-' || label[len(label)-1] == '-':
		return fmt.Errorf("label %q begins or ends with a hyphen", label)
	}
	return nil
}

// numericEnd reports whether the last label is a number, decimal or hex: the
// rule by which URL parsers and inet_aton take a host for an IPv4 address.
func numericEnd(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}
