package relay_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// In the other benchmarks client, relay and host take turns on the same processors, and the relay,
// which reads and writes TLS, has as much to do as the two together. Here client and host are
// processes with a bounded share of a processor each, as a network and other machines bound them,
// and the relay has the rest.
const (
	endVariable = "SBX_TEST_END"
	endShare    = 30     // percent of a processor
	endPeriod   = 10_000 // microseconds, of which the share is
	endBody     = 16 << 20
)

func TestMain(m *testing.M) {
	end, ok := map[string]func(tasks *json.Decoder) error{
		"host": serveDownloads, "client": measureDownloads, "relay": serveRelay, "keys": serveKeys,
	}[os.Getenv(endVariable)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := end(json.NewDecoder(os.Stdin)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// endTask is told to an end as JSON: a host serves, a client downloads once. The answer is a line.
type endTask struct {
	Protocol         string
	Key, Certificate []byte // the host's
	Roots            []byte // the client's, as PEM
	Addr             string
	Socket           string // of the keys' process; "" = there is none
}

// serveDownloads serves at the address that it writes, until there are no more tasks.
func serveDownloads(tasks *json.Decoder) error {
	var task endTask
	if err := tasks.Decode(&task); err != nil {
		return err
	}
	key, err := x509.ParsePKCS8PrivateKey(task.Key)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { download(w, endBody) }),
		ErrorLog: quiet,
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{task.Certificate}, PrivateKey: key}}, NextProtos: []string{task.Protocol},
		},
	}
	go func() { _ = server.ServeTLS(l, "", "") }()
	fmt.Println(l.Addr())
	_ = tasks.Decode(&task)
	return server.Close()
}

// measureDownloads writes the seconds of each download.
func measureDownloads(tasks *json.Decoder) error {
	clients := map[string]*http.Client{}
	buffer := make([]byte, 256<<10)
	for {
		var task endTask
		if err := tasks.Decode(&task); err != nil {
			return nil //nolint:nilerr // the end of its input
		}
		c := clients[task.Addr]
		if c == nil {
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(task.Roots)
			c = clientAt(task.Addr, task.Protocol, roots)
			clients[task.Addr] = c
		}
		began := time.Now()
		res, err := c.Get("https://ok.test/v1/a")
		if err != nil {
			return err
		}
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, res.Body, buffer)
		if res.Body.Close(); n != endBody {
			return fmt.Errorf("%d bytes: %w", n, err)
		}
		fmt.Println(time.Since(began).Seconds())
	}
}

// end is a process of its own.
type end struct {
	in  io.WriteCloser
	out *bufio.Scanner
	pid int
}

// newBounded starts an end with a bounded share of a processor.
func newBounded(b *testing.B, kind string) *end {
	b.Helper()
	group := newShare(b, kind)
	e := newEnd(b, kind)
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(e.pid)), 0); err != nil {
		b.Fatal(err)
	}
	return e
}

func newEnd(b testing.TB, kind string) *end {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), endVariable+"="+kind)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	return &end{in, bufio.NewScanner(out), cmd.Process.Pid}
}

// newShare makes a cgroup with the share of an end, of either version.
func newShare(b *testing.B, kind string) (dir string) {
	b.Helper()
	root, files := "/sys/fs/cgroup", [][2]string{{"cpu.max", fmt.Sprint(endShare*endPeriod/100, " ", endPeriod)}}
	if _, err := os.Stat(root + "/cgroup.controllers"); err != nil {
		root += "/cpu"
		files = [][2]string{{"cpu.cfs_period_us", fmt.Sprint(endPeriod)}, {"cpu.cfs_quota_us", fmt.Sprint(endShare * endPeriod / 100)}}
	}
	dir, err := os.MkdirTemp(root, "sbx-bench-"+kind+"-")
	if err != nil {
		b.Skip("no cgroups can be made:", err)
	}
	b.Cleanup(func() { os.Remove(dir) })
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f[0]), []byte(f[1]), 0); err != nil {
			b.Skip("no cgroup has a share of a processor:", err)
		}
	}
	return dir
}

// do tells the end a task and returns its answer.
func (e *end) do(b testing.TB, task endTask) string {
	b.Helper()
	if err := json.NewEncoder(e.in).Encode(task); err != nil || !e.out.Scan() {
		b.Fatal(err, e.out.Err())
	}
	return e.out.Text()
}

// BenchmarkBoundedDownload downloads straight and through the relay, in turns, and reports the
// throughput through the relay in percent of the straight one.
func BenchmarkBoundedDownload(b *testing.B) {
	certificate := world().host("ok.test")
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		b.Fatal(err)
	}
	for _, protocol := range protocols() {
		b.Run(protocol, func(b *testing.B) {
			server, client := newBounded(b, "host"), newBounded(b, "client")
			addr := server.do(b, endTask{Protocol: protocol, Key: key, Certificate: certificate.Certificate[0]})
			box := newBox(b, &host{addr: addr})
			var seconds [2]float64
			for b.Loop() {
				for i, task := range []endTask{
					{Protocol: protocol, Addr: addr, Roots: world().root},
					{Protocol: protocol, Addr: box.addr, Roots: []byte(box.published[0])},
				} {
					took, err := strconv.ParseFloat(client.do(b, task), 64)
					if err != nil {
						b.Fatal(err)
					}
					seconds[i] += took
				}
			}
			b.ReportMetric(float64(b.N*endBody)/1e6/seconds[0], "straight-MB/s")
			b.ReportMetric(float64(b.N*endBody)/1e6/seconds[1], "relay-MB/s")
			b.ReportMetric(100*seconds[0]/seconds[1], "%straight")
		})
	}
}
