package live

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadResolvers(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"nameserver 127.0.0.11\noptions ndots:0\n", "[127.0.0.11] []"},
		{"# c\ndomain old.lan\nsearch Corp.LAN. b.lan\nnameserver 10.0.0.1\nnameserver fe80::1%eth0\nnameserver bogus\nnameserver\n",
			"[10.0.0.1 fe80::1%eth0] [corp.lan b.lan]"},
		{"nameserver 192.0.2.1 # office\n;nameserver 192.0.2.9\n", "[192.0.2.1] []"},
		{"", "[] []"},
	} {
		file := filepath.Join(t.TempDir(), "resolv.conf")
		if err := os.WriteFile(file, []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := ReadResolvers(file)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		b.WriteByte('[')
		for i, a := range r.Addrs {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(a.String())
		}
		if got := b.String() + "] [" + strings.Join(r.Search, " ") + "]"; got != tt.want {
			t.Errorf("%q: %s, want %s", tt.text, got, tt.want)
		}
	}
	if r, err := ReadResolvers("/no/such/file"); err != nil || len(r.Addrs) != 0 {
		t.Errorf("a missing file: %v, %v", r, err)
	}
}

func TestPortsOutsideTheKernels(t *testing.T) {
	for text, want := range map[string][2]uint16{
		"32768\t60999\n": {1024, 32767},
		"1024 40000":     {40001, 65535},
		"1024 65000":     {0, 0},
	} {
		file := filepath.Join(t.TempDir(), "range")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if first, last, err := portsOutside(file); err != nil || first != want[0] || last != want[1] {
			t.Errorf("%q: %d to %d, %v, want %v", text, first, last, err, want)
		}
	}
	if _, _, err := portsOutside("/no/such/file"); err == nil {
		t.Error("a missing file is no error")
	}
}
