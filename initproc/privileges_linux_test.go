package initproc

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

func TestAttackPrivilegesThatStay(t *testing.T) {
	good := "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\n" +
		"CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n" +
		"CapAmb:\t0000000000000000\nNoNewPrivs:\t1\n"
	a := Account{UID: 1000, GID: 1000}
	if err := provePowerless(good, a); err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{"CapInh:\t0000000000000000", "CapInh:\t0000000000001000"},
		{"CapBnd:\t0000000000000000", "CapBnd:\t0000000000001000"},
		{"CapEff:\t0000000000000000", "CapEff:\t0000000000001000"},
		{"CapPrm:\t0000000000000000", "CapPrm:\t0000000000001000"},
		{"CapAmb:\t0000000000000000", "CapAmb:\t0000000000001000"},
		{"NoNewPrivs:\t1", "NoNewPrivs:\t0"},
		{"Uid:\t1000\t1000\t1000", "Uid:\t1000\t1000\t0"},
		{"Gid:\t1000", "Gid:\t0"},
		{"CapBnd:", "CapXxx:"},
	} {
		if err := provePowerless(strings.Replace(good, change[0], change[1], 1), a); err == nil {
			t.Errorf("%q passes", change[1])
		}
	}
}

// The filters of all machines that we build for, run by a machine of BPF's, with
// the numbers of system calls that golang.org/x/sys takes from the kernel.
func TestSocketFilterOfEveryMachine(t *testing.T) {
	sys, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		testenv.Missing(t, "golang.org/x/sys", err.Error())
	}
	numbers := func(machine string) func(name string) uint32 {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(sys)), "unix", "zsysnum_linux_"+machine+".go"))
		if err != nil {
			t.Fatal(err)
		}
		return func(name string) uint32 {
			found := regexp.MustCompile(`(?m)^\s*SYS_` + name + `\s+= (\d+)$`).FindSubmatch(text)
			if found == nil {
				t.Fatalf("%s has no %s", machine, name)
			}
			n, _ := strconv.ParseUint(string(found[1]), 10, 32)
			return uint32(n)
		}
	}
	const allow, refused = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO
	for machine, audit := range map[string]struct {
		build string
		arch  uint32
	}{
		"amd64": {"amd64", unix.AUDIT_ARCH_X86_64}, "386": {"amd64", unix.AUDIT_ARCH_I386},
		"arm64": {"arm64", unix.AUDIT_ARCH_AARCH64}, "arm": {"arm64", unix.AUDIT_ARCH_ARM},
	} {
		filter, err := socketFilter(audit.build)
		if err != nil || len(filter) > 4096 {
			t.Fatalf("%s: %d instructions, %v", audit.build, len(filter), err)
		}
		var program []bpf.Instruction
		for _, f := range filter {
			program = append(program, bpf.RawInstruction{Op: f.Code, Jt: f.Jt, Jf: f.Jf, K: f.K}.Disassemble())
		}
		vm, err := bpf.NewVM(program)
		if err != nil {
			t.Fatal(err)
		}
		// struct seccomp_data; the machine reads words with the high byte first.
		verdict := func(arch, number uint32, args ...uint32) int {
			data := binary.BigEndian.AppendUint32(nil, number)
			data = binary.BigEndian.AppendUint32(data, arch)
			data = append(data, make([]byte, 8+6*8)...)
			for i, a := range args {
				binary.BigEndian.PutUint32(data[16+8*i:], a)
			}
			got, err := vm.Run(data)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		call := numbers(machine)
		for _, c := range []struct {
			name string
			args []uint32
			want int
		}{
			{"SOCKET", []uint32{unix.AF_INET}, allow}, {"SOCKET", []uint32{unix.AF_UNIX}, allow},
			{"SOCKET", []uint32{unix.AF_NETLINK, 0, unix.NETLINK_ROUTE}, allow},
			{"SOCKET", []uint32{unix.AF_VSOCK}, refused | int(unix.EAFNOSUPPORT)},
			{"SOCKETPAIR", []uint32{unix.AF_TIPC}, refused | int(unix.EAFNOSUPPORT)},
			{"SOCKET", []uint32{unix.AF_NETLINK, 0, unix.NETLINK_NETFILTER}, refused | int(unix.EPROTONOSUPPORT)},
			{"PRLIMIT64", []uint32{0}, allow}, {"PRLIMIT64", []uint32{1}, refused | int(unix.EPERM)},
			{"IO_URING_SETUP", nil, refused | int(unix.ENOSYS)}, {"IO_URING_ENTER", nil, refused | int(unix.ENOSYS)},
			{"IO_URING_REGISTER", nil, refused | int(unix.ENOSYS)}, {"IO_SETUP", nil, refused | int(unix.ENOSYS)},
			{"READ", nil, allow}, {"EXECVE", nil, allow}, {"CLONE3", nil, allow},
		} {
			if got := verdict(audit.arch, call(c.name), c.args...); got != c.want {
				t.Errorf("%s: %s%v gets %#x, want %#x", machine, c.name, c.args, got, c.want)
			}
		}
		if got := verdict(unix.AUDIT_ARCH_S390X, call("READ")); got != refused|int(unix.ENOSYS) {
			t.Errorf("%s: another machine's call gets %#x", audit.build, got)
		}
		if machine == "386" {
			if got := verdict(audit.arch, call("SOCKETCALL")); got != refused|int(unix.ENOSYS) {
				t.Errorf("socketcall gets %#x", got)
			}
		}
	}
	if _, err := socketFilter("vax"); err == nil {
		t.Error("a filter for a machine that nobody knows")
	}
}
