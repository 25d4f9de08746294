package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
)

// agent is a program that the agent runs in the sandbox: this test binary,
// started again with agentEnv set to the job. It prints what it could do.
func agent(job string, args []string) int {
	switch job {
	case "attack":
		daemon, err := strconv.Atoi(args[0])
		if err != nil {
			return 2
		}
		attack(daemon)
	case "first":
		attackFirst()
	case "families":
		tryFamilies()
	case "flood":
		flood(args[0])
	case "send":
		guardAgent(args)
	case "client":
		clientAgent()
	case "refused":
		refusedAgent()
	case "connect":
		return connectAgent(args[0])
	case "echo":
		return echoAgent(args[0])
	case "forge":
		forgeAgent()
	case "cling":
		cling()
	case "hold":
		holdForeign()
	case "spin":
		for spins := 0; ; spins++ { // takes a processor, and never waits
			if spins < 0 {
				return 1
			}
		}
	case "wait":
		time.Sleep(runLimit)
	case "ask":
		if err := askAgent(args[0]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	case "setuid":
		fmt.Println("setuid:", os.Geteuid())
	default:
		fmt.Fprintln(os.Stderr, "no such job:", job)
		return 2
	}
	return 0
}

// attack tries, with raw system calls, what the agent must not be able to do,
// against the process sbx-init with the given pid and elsewhere, and prints one
// line for each: "name: ok" would be a success of the attack.
func attack(daemon int) {
	say := func(name string, err error) {
		word := "ok"
		if err != nil {
			word = "failed: " + err.Error()
		}
		fmt.Printf("%s: %s\n", name, word)
	}
	open := func(path string, flags int) error {
		f, err := os.OpenFile(path, flags, 0)
		if err == nil {
			f.Close()
		}
		return err
	}
	socket := func(domain, typ, proto int) error {
		fd, err := unix.Socket(domain, typ, proto)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	proc := "/proc/" + strconv.Itoa(daemon)
	say("kill the daemon", syscall.Kill(daemon, syscall.SIGKILL))
	say("stop the daemon", syscall.Kill(daemon, syscall.SIGSTOP))
	say("trace the daemon", unix.PtraceAttach(daemon))
	say("read its memory", open(proc+"/mem", os.O_RDONLY))
	say("write its memory", open(proc+"/mem", os.O_WRONLY))
	say("read its environment", open(proc+"/environ", os.O_RDONLY))
	_, err := os.ReadDir(proc + "/fd")
	say("list its descriptors", err)
	fd, err := unix.PidfdOpen(daemon, 0)
	if err == nil {
		_, err = unix.PidfdGetfd(fd, 3, 0)
	}
	say("take its descriptor", err)
	// One of the daemon's threads has the agent's user for files.
	threads, _ := os.ReadDir(proc + "/task")
	for _, thread := range threads {
		if tid, err := strconv.Atoi(thread.Name()); err == nil && tid != daemon {
			if err := unix.PtraceAttach(tid); err == nil {
				say("trace a thread of the daemon", nil)
			}
			if err := unix.Tgkill(daemon, tid, unix.SIGKILL); err == nil {
				say("kill a thread of the daemon", nil)
			}
			if err := open(proc+"/task/"+thread.Name()+"/mem", os.O_RDWR); err == nil {
				say("write a thread's memory", nil)
			}
		}
	}
	say("raw socket", socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP))
	say("raw IPv6 socket", socket(unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_RAW))
	say("packet socket", socket(unix.AF_PACKET, unix.SOCK_RAW, 0))
	say("mark a socket", markSocket())
	say("become root", unix.Setresuid(0, 0, 0))
	say("join the network from a new user namespace", userNamespace())
	say("turn no_new_privs off", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0))
	_, err = net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(firewall.ResolverPort))
	say("take the resolver's TCP port", err)
	_, err = net.ListenPacket("udp", "0.0.0.0:"+strconv.Itoa(firewall.ResolverPort))
	say("take the resolver's UDP port", err)
}

func markSocket() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, firewall.Mark)
}

// userNamespace asks iptables for its rules with all capabilities of a new user
// namespace, in the network namespace that we have.
func userNamespace() error {
	attr := &os.ProcAttr{Sys: &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
	}}
	p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", "iptables -F SBX-OUT || iptables-legacy -F SBX-OUT"}, attr)
	if err != nil {
		return err
	}
	state, err := p.Wait()
	if err == nil && !state.Success() {
		err = fmt.Errorf("%s", state)
	}
	return err
}

// flood sends datagrams to an address and prints how many were refused.
func flood(to string) {
	conn, err := net.Dial("udp", to)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	refused := 0
	for range 100_000 {
		// EPERM is the packet filter's word; an ICMP answer to an earlier packet
		// ends a write too, of a packet that was never sent.
		if _, err := conn.Write([]byte("x")); errors.Is(err, syscall.EPERM) {
			refused++
		}
	}
	fmt.Println(refused)
}
