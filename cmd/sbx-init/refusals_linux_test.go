package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/firewall/audit"
	"github.com/org/claude-sandbox/firewall/report"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// byAddress returns the packet filter's records as lines, sorted.
func byAddress(records []audit.Record) []string {
	var out []string
	for _, r := range records {
		if r.Layer == audit.LayerIP && r.UID != nil {
			out = append(out, fmt.Sprintf("%s %s %s:%d %s uid %d rule %q: %s", r.Verdict, r.Name, r.Dst, r.Port, r.Proto, *r.UID, r.Rule, r.Reason))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestEveryRefusalByAddressIsRecorded(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	curl, bash := testenv.Program(t, "curl"), testenv.Program(t, "bash")
	r := b.run(bash, "-c", `
		get() { `+curl+` -sS --noproxy '*' --max-time 5 "$@" >/dev/null 2>&1; }
		get http://ok.test/ || echo "ok.test is not reached"
		get http://`+evilAddr+`/
		get 'http://[`+evilAddr6+`]:8443/'
		get http://`+okAddr+`:8443/
		get http://`+evilAddr+`:853/
		get http://`+metadata+`/
		echo x > /dev/udp/`+evilAddr+`/443 2>/dev/null
		echo x > /dev/udp/`+evilAddr6+`/123
		true
	`)
	r.mustExit(t, 0)
	if r.stdout != "" {
		t.Errorf("stdout: %s", r.stdout)
	}
	deny := func(name, dst string, port int, proto, rule, reason string) string {
		return fmt.Sprintf("deny %s %s:%d %s uid %d rule %q: %s", name, dst, port, proto, agentUID, rule, reason)
	}
	want := []string{
		deny("", evilAddr, 80, "tcp", "", "no allowlist entry matches "+evilAddr),
		deny("", evilAddr6, 8443, "tcp", "", "no allowlist entry matches "+evilAddr6),
		deny("ok.test", okAddr, 8443, "tcp", "", "the allowlist opens 80/tcp, 443/tcp there, not 8443/tcp"),
		deny("", evilAddr, 853, "tcp", "resolver", "DNS over TLS or QUIC would go past the sandbox's resolver"),
		deny("", metadata, 80, "tcp", "no special address", "no allowlist entry matches "+metadata+", which is a cloud metadata address"),
		deny("", evilAddr, 443, "udp", "", "no allowlist entry matches "+evilAddr),
		deny("", evilAddr6, 123, "udp", "", "no allowlist entry matches "+evilAddr6),
	}
	slices.Sort(want)
	if got := byAddress(b.records()); !slices.Equal(got, want) {
		t.Errorf("recorded\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
	var text strings.Builder
	if err := report.New(b.records(), nil).WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, entry := range []string{`"` + evilAddr + `:80"`, `"[` + evilAddr6 + `]:8443"`, `"ok.test:8443"`, `"` + evilAddr + `:443/udp"`} {
		if !strings.Contains(text.String(), entry) {
			t.Errorf("the report does not offer %s:\n%s", entry, text.String())
		}
	}
	if strings.Contains(text.String(), `"`+metadata) {
		t.Errorf("the report offers to open the metadata service:\n%s", text.String())
	}
}

func TestModeNoneRecordsWhatWasTried(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, `{"network": {"mode": "none"}}`)
	b.sh("curl -sS --max-time 3 http://"+evilAddr+"/ 2>/dev/null; true").mustExit(t, 0)
	want := fmt.Sprintf("deny  %s:80 tcp uid %d rule %q: the sandbox has no network (mode none)", evilAddr, agentUID, "mode none")
	if got := byAddress(b.records()); !slices.Equal(got, []string{want}) {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

// A sidecar sees no process of others but whose sockets they are, and records
// until it is told to end.
func TestSidecarRecordsWhatOthersAreRefused(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	cmd := startSidecar(t, b)
	for range 3 {
		_, _ = curlAsAgent(t, in, "http://"+evilAddr+":8080/") // refused
		_, _ = curlAsAgent(t, in, "http://evil.test/")
	}
	in.Sandbox.Do(func() {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
		if err == nil {
			_ = unix.Sendto(fd, []byte{8, 0, 0, 0, 0, 0, 0, 1}, 0, &unix.SockaddrInet4{Addr: [4]byte{93, 184, 216, 66}}) // refused
			unix.Close(fd)
		}
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := waitFor(cmd); err != nil {
		t.Fatal(err)
	}
	want := []string{
		fmt.Sprintf("deny  %s:0 icmp uid 0 rule %q: only TCP and UDP leave the sandbox", evilAddr, "no icmp"),
		fmt.Sprintf("deny  %s:8080 tcp uid %d rule %q: no allowlist entry matches %s", evilAddr, agentUID, "", evilAddr),
	}
	if got := byAddress(b.records()); !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
	counts := map[string]int{}
	for _, row := range report.New(b.records(), nil).Rows {
		counts[row.Host+" "+string(row.Proto)] += row.Count
	}
	if counts[evilAddr+" tcp"] != 3 || counts["evil.test "] < 3 {
		t.Errorf("counted %v, want 3 connections and at least 3 questions", counts)
	}
	for _, r := range b.records() {
		if r.PID != 0 || r.Exe != "" {
			t.Errorf("a process that cannot be seen is on record: %+v", r)
		}
		if r.Name == "evil.test" && r.Count == 0 && (r.UID == nil || *r.UID != agentUID) {
			t.Errorf("the question's user is not on record: %+v", r)
		}
	}
}

func TestRefusalsNameTheProcess(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	bash, dig := testenv.Program(t, "bash"), testenv.Program(t, "dig")
	r := b.run(bash, "-c", `
		`+dig+` +tries=1 +time=5 evil.test > dig.out & echo $!; wait
		exec 3<>/dev/udp/`+evilAddr+`/4433; echo x >&3
		until [[ ${log[*]} == *4433* ]]; do mapfile -t log < ../run/audit.jsonl; done # without a child, which would hold the socket too
		echo $$`)
	r.mustExit(t, 0)
	pids := strings.Fields(r.stdout)
	if len(pids) != 2 {
		t.Fatalf("stdout: %s", r.stdout)
	}
	want := map[string]string{pids[0]: dig, pids[1]: bash}
	for _, rec := range b.records() {
		pid := strconv.Itoa(rec.PID)
		program, ok := want[pid]
		if !ok {
			continue
		}
		delete(want, pid)
		if program, err := filepath.EvalSymlinks(program); err != nil || rec.Exe != program {
			t.Errorf("pid %s: executable %q, want %q (%v)", pid, rec.Exe, program, err)
		}
		if rec.Verdict != firewall.Deny || rec.UID == nil || *rec.UID != agentUID {
			t.Errorf("pid %s: %+v", pid, rec)
		}
	}
	if len(want) > 0 {
		text, _ := os.ReadFile(b.path("run/audit.jsonl"))
		t.Errorf("no record of %v in\n%s", want, text)
	}
}

// The log stays short, no packet is forgotten, and names are resolved meanwhile.
func TestAttackFloodOfRefusedPackets(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	curl := testenv.Program(t, "curl")
	wire := in.Capture(t)
	r := b.sh(`
		` + agentEnv + `=flood "` + b.bin + `/agent" ` + evilAddr + `:9999 > refused & flood=$!
		asked=0
		while kill -0 $flood 2>/dev/null; do
			` + curl + ` -sS --noproxy '*' --max-time 5 http://ok.test/ >/dev/null || echo "ok.test failed"
			asked=$((asked+1))
		done
		` + curl + ` -sS --noproxy '*' --max-time 5 http://` + evilAddr + `:8080/ 2>/dev/null && echo opened
		test $asked -gt 0 && cat refused`)
	r.mustExit(t, 0)
	wire.Nothing("a flood of refused packets", toAllowed)
	refused, err := strconv.Atoi(strings.TrimSpace(r.stdout))
	if err != nil || refused == 0 {
		t.Fatalf("the flood said %q", r.stdout)
	}
	records := b.records()
	first := records[slices.IndexFunc(records, func(r audit.Record) bool { return r.Layer == audit.LayerIP })]
	if first.Dst != evilAddr || first.Port != 9999 || first.Count != 0 {
		t.Errorf("the first refusal on record is %+v", first)
	}
	lines, total := 0, 0
	for _, rec := range records {
		if rec.Layer != audit.LayerIP {
			continue
		}
		lines++
		if rec.Port == 9999 || rec.Dst == "" {
			total += max(rec.Count, 1)
		}
	}
	if lines > 20 {
		t.Errorf("%d refused packets made %d lines", refused, lines)
	}
	// Losses show in the numbering of what comes later, so the last burst of a
	// flood that ends in losses may stay uncounted.
	if total > refused || total < refused*9/10 {
		t.Errorf("%d packets on record, want about %d", total, refused)
	}
	if got := byAddress(records); len(got) != 2 {
		t.Errorf("recorded %q, want the flood and the connection after it", got)
	}
}

// An allowed decision names its process as well, for both of a connection's
// steps, and no secret of its command line.
func TestAllowedDecisionsNameTheProcess(t *testing.T) {
	in := newInternet(t)
	curl, dig := testenv.Program(t, "curl"), testenv.Program(t, "dig")
	// The search gives up after a while, which on a busy machine is soon.
	for attempt := range 5 {
		b := newBox(t, in.Sandbox, guardPolicy)
		r := b.sh(dig + ` +tries=1 +time=5 ok6.test >/dev/null
			DB_PASSWORD=x ` + curl +
			` -sS --noproxy '*' --max-time 5 -u me:verysecretword -H 'Authorization: ` +
			`Bearer verysecretword' 'http://ok.test/?token=verysecretword' >/dev/null`)
		r.mustExit(t, 0)
		missing := map[string]string{"dns ok6.test": "dig", "dns ok.test": "curl", "http ok.test": "curl"}
		for _, rec := range b.records() {
			what := string(rec.Layer) + " " + rec.Name
			if missing[what] == "" || rec.PID == 0 {
				continue
			}
			if filepath.Base(rec.Exe) != missing[what] || !strings.Contains(rec.Cmd, rec.Name) || rec.Verdict != firewall.Allow ||
				rec.UID == nil || *rec.UID != agentUID {
				t.Errorf("%s: %+v", what, rec)
			}
			delete(missing, what)
		}
		text, err := os.ReadFile(b.path("run/audit.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "verysecretword") {
			t.Errorf("a secret is on record:\n%s", text)
		}
		if len(missing) == 0 {
			return
		}
		if attempt == 4 {
			t.Errorf("no process of %v in\n%s", missing, text)
		}
	}
}

// A killed agent leaves the records of what it tried, the counts too.
func TestRecordsOutliveTheAgent(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	dig := testenv.Program(t, "dig")
	r := b.sh(`for i in 1 2 3 4 5; do ` + dig + ` +tries=1 +time=5 evil.test >/dev/null; done; kill -9 $$`)
	r.mustExit(t, 128+9)
	asked := 0
	for _, rec := range b.records() {
		if rec.Name == "evil.test" {
			asked += max(rec.Count, 1)
		}
	}
	if asked != 5 {
		t.Errorf("%d questions are on record, want 5: %+v", asked, b.records())
	}
}

// Attack: fill the disk with refusals, so that what follows is not on record.
// An attempt that cannot be recorded does not happen.
func TestAttackFillingTheAuditDisk(t *testing.T) {
	in := newInternet(t)
	b := newBox(t, in.Sandbox, openPolicy)
	curl, dig := testenv.Program(t, "curl"), testenv.Program(t, "dig")
	if err := os.MkdirAll(b.path("run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", b.path("run"), "tmpfs", 0, "size=16k,mode=0755"); err != nil {
		testenv.Missing(t, "mounting a tmpfs", err.Error())
	}
	t.Cleanup(func() { _ = syscall.Unmount(b.path("run"), 0) })
	r := b.sh(`
		echo "before: $(` + dig + ` +tries=1 +time=5 ok6.test AAAA | grep -o 'status: [A-Z]*')"
		for i in $(seq 1 120); do echo "n$i.evil.test A"; done > names
		` + dig + ` +tries=1 +time=5 -f names | grep -c 'status: REFUSED'
		echo "after: $(` + dig + ` +tries=1 +time=5 ok.test | grep -o 'status: [A-Z]*')"
		` + curl + ` -sS --noproxy '*' --max-time 5 http://ok.test/ 2>/dev/null`)
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if want := []string{"before: status: NOERROR", "120", "after: status: SERVFAIL"}; !slices.Equal(lines, want) {
		t.Errorf("got %q, want %q", lines, want)
	}
	for _, request := range in.requests() {
		t.Errorf("a request arrived that is not on record: %s", request)
	}
	r.mustSay(t, "the audit log is not complete")
}
