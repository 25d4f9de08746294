package initproc

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/diag"
)

// refuseUnfiltered takes from the calling thread, which must be locked, and whatever it
// executes what no packet filter sees, for good: sockets of families other than
// the internet's and the machine's own, above all those between a virtual
// machine and its host (AF_VSOCK), and ways around this filter. Engines of 2023
// and later refuse most of it by a profile of their own; older ones do not, and
// a user can switch the profile off. It needs no capability but no_new_privs,
// and proves the result.
func refuseUnfiltered() error {
	fail := func(err error) error {
		return diag.WithHint(fmt.Errorf("refusing system calls that no packet filter sees: %w", err),
			"the kernel, or the emulator that stands in for it, must know seccomp filters (CONFIG_SECCOMP_FILTER)")
	}
	program, err := socketFilter(runtime.GOARCH)
	if err != nil {
		return fail(err)
	}
	// unsafe: prctl(2) takes the filter's address, and package unix has no call for it.
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
	runtime.KeepAlive(program)
	if err != nil {
		return fail(err)
	}
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.Close(fd)
		return fail(errors.New("a socket to the machine's host could be opened all the same"))
	}
	if !errors.Is(err, unix.EAFNOSUPPORT) {
		return fail(fmt.Errorf("a socket to the machine's host fails in an unknown way: %w", err))
	}
	return nil
}

// Families that programs in the sandbox may have sockets of. An interface's
// addresses are asked for over netlink, whose other protocols configure the
// kernel.
var (
	families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6}
	netlinks = []uint32{unix.NETLINK_ROUTE, unix.NETLINK_SOCK_DIAG}
)

// abi is one way to make system calls on a machine, with the numbers of those
// that matter. 0 stands for one that does not exist there.
type abi struct {
	arch                        uint32
	socket, socketpair, prlimit uint32
	refused                     []uint32 // see uring and io_setup below
	socketcall                  uint32   // whose arguments lie in memory, where no filter looks; programs have socket as well
	from, to                    uint32   // numbers in [from, to) are refused: another ABI under the same name
}

// uring is io_uring_setup, _enter and _register, the same everywhere: io_uring opens
// sockets without a system call for it.
var uring = []uint32{425, 426, 427}

// refusedCalls are the calls that are refused: io_uring's, and io_setup, because the
// places for asynchronous reads and writes (fs.aio-max-nr) are the whole machine's,
// and whoever takes them all keeps its databases from starting. Programs that know
// io_setup do without where it is not there; the C library's aio uses threads.
func refusedCalls(ioSetup uint32) []uint32 { return append(slices.Clone(uring), ioSetup) }

// abis are those of a machine: its own and the one of 32-bit programs. The
// numbers are the kernel's (arch/*/entry/syscalls, include/uapi/asm-generic/unistd.h).
var abis = map[string][]abi{
	"amd64": {
		{arch: unix.AUDIT_ARCH_X86_64, socket: 41, socketpair: 53, prlimit: 302, refused: refusedCalls(206), from: 1 << 30, to: 1 << 31}, // x32
		{arch: unix.AUDIT_ARCH_I386, socket: 359, socketpair: 360, prlimit: 340, refused: refusedCalls(245), socketcall: 102},
	},
	"arm64": {
		{arch: unix.AUDIT_ARCH_AARCH64, socket: 198, socketpair: 199, prlimit: 261, refused: refusedCalls(0)},
		{arch: unix.AUDIT_ARCH_ARM, socket: 281, socketpair: 288, prlimit: 369, refused: refusedCalls(243), socketcall: 102},
	},
}

// Offsets in struct seccomp_data (seccomp(2)). An argument is 64 bits; what is
// compared here are ints, which the kernel takes from the lower half.
const (
	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16
)

// socketFilter returns the filter's program. Unknown architectures and numbers
// of another ABI get ENOSYS.
func socketFilter(goarch string) ([]unix.SockFilter, error) {
	machine, ok := abis[goarch]
	if !ok {
		return nil, fmt.Errorf("there is no filter for %s", goarch)
	}
	var f assembler
	refuse := func(errno uint32) { f.emit(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|errno) }
	for _, a := range machine {
		f.load(dataArch)
		f.when(a.arch, func() {
			f.load(dataNumber)
			if a.to > 0 {
				f.between(a.from, a.to, func() { refuse(uint32(unix.ENOSYS)) })
			}
			for _, number := range a.refused {
				f.when(number, func() { refuse(uint32(unix.ENOSYS)) })
			}
			if a.socketcall != 0 {
				f.when(a.socketcall, func() { refuse(uint32(unix.ENOSYS)) })
			}
			f.when(a.prlimit, func() {
				// For the caller alone: the limits of the sandbox's first process
				// could be set so that the kernel ends it.
				f.load(dataArgs)
				f.when(0, f.allow)
				refuse(uint32(unix.EPERM))
			})
			for _, number := range []uint32{a.socket, a.socketpair} {
				f.when(number, func() {
					f.load(dataArgs)
					for _, family := range families {
						f.when(family, f.allow)
					}
					f.when(unix.AF_NETLINK, func() {
						f.load(dataArgs + 2*8)
						for _, protocol := range netlinks {
							f.when(protocol, f.allow)
						}
						refuse(uint32(unix.EPROTONOSUPPORT))
					})
					refuse(uint32(unix.EAFNOSUPPORT))
				})
			}
			f.allow()
		})
	}
	refuse(uint32(unix.ENOSYS))
	return f.program, nil
}

// assembler writes a classic BPF program. Blocks are skipped by jumps over them,
// whose length is known when a block is complete.
type assembler struct{ program []unix.SockFilter }

func (f *assembler) emit(code uint16, k uint32) {
	f.program = append(f.program, unix.SockFilter{Code: code, K: k})
}

func (f *assembler) load(offset uint32) { f.emit(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset) }

func (f *assembler) allow() { f.emit(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW) }

// when runs block, which must end in a return, if the loaded value is k.
func (f *assembler) when(k uint32, block func()) {
	at := len(f.program)
	f.emit(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k)
	block()
	f.program[at].Jf = f.since(at)
}

// between runs block if the loaded value is in [from, to).
func (f *assembler) between(from, to uint32, block func()) {
	at := len(f.program)
	f.emit(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, from)
	f.emit(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, to)
	block()
	f.program[at].Jf = f.since(at)
	f.program[at+1].Jt = f.since(at + 1)
}

// since is the jump from the instruction at to the end.
func (f *assembler) since(at int) uint8 {
	n := len(f.program) - at - 1
	if n > 255 {
		panic("a jump over more than 255 instructions") // the program is constant, and a test makes it
	}
	return uint8(n)
}
