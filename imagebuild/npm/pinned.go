package npm

import "fmt"

// PinnedVersion is the Claude Code that a run brings along. Our facts about
// requests and output were measured on it; the templates pin the same one.
const PinnedVersion = "2.1.329"

// pinned are npm's checksums of the platform packages at PinnedVersion, by
// architecture and C library.
var pinned = map[[2]string]struct{ name, integrity string }{
	{"amd64", Glibc}: {"@anthropic-ai/claude-code-linux-x64",
		"sha512-+n4lu1ubYAp02Y0X/MAUnxw9yY6SHHZ77F+IoW+V0wVoFuiI9opdH6gofjf14gXJCEYMTNpks7Gn1i8XZTKAWA=="},
	{"arm64", Glibc}: {"@anthropic-ai/claude-code-linux-arm64",
		"sha512-IiG5umFToSCVWqB1lEsxxwIxKgxPXyZ3DRU915v8J4Bz5Q3JpslM0ew1m5yaT+lFXBPvYxmsEgi0XI68XHND0A=="},
	{"amd64", Musl}: {"@anthropic-ai/claude-code-linux-x64-musl",
		"sha512-EouW7B/aG3GOQBmzN9MxHV9uTOE2r6E+VIlFBrBgIEBuBBF4qH1GTvg5/CVf53gGp4DgVf1CYdBHjS+2NeDP4A=="},
	{"arm64", Musl}: {"@anthropic-ai/claude-code-linux-arm64-musl",
		"sha512-uVWrRp60cqvikJ13Rtmlkd8WuJtJEWAuGJzenJ0or0I7by05kRWopFdDdpWYQi8dRIJ6+W9T9w+PA4B+EjfCXQ=="},
}

// C libraries that Claude Code is made for.
const (
	Glibc = "glibc"
	Musl  = "musl"
)

// Pinned returns the package of Claude Code at PinnedVersion, with the checksum that
// was pinned and without an address, for linux/arch ("amd64", "arm64") and a C
// library.
func Pinned(arch, libc string) (Package, error) {
	p, ok := pinned[[2]string{arch, libc}]
	if !ok {
		return Package{}, fmt.Errorf("npm has no Claude Code for linux/%s with %s", arch, libc)
	}
	return Package{Name: p.name, Version: PinnedVersion, Integrity: p.integrity}, nil
}
