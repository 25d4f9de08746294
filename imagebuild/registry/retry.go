package registry

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/org/claude-sandbox/internal/diag"
)

// Status is a registry's refusal.
type Status struct {
	Code    int
	Codes   []string      // the registry's own error codes, such as BLOB_UNKNOWN
	Message string        // what else it says; one line
	Wait    time.Duration // how long it asks to wait; 0 = it does not say
}

func (s *Status) Error() string {
	text := fmt.Sprintf("the registry answers %d %s", s.Code, http.StatusText(s.Code))
	if s.Message != "" {
		text += ": " + s.Message
	}
	return text
}

// garbled is an answer that contradicts itself.
type garbled struct{ err error }

func (g *garbled) Error() string { return g.err.Error() }

// sourceError is a failure to read what is to be uploaded.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

// attempts is how often an operation is tried in all. With the pauses below
// that is about a minute, or longer where the registry asks for it.
const attempts = 7

// try repeats f while its failure looks like a passing one.
func (c *Client) try(ctx context.Context, what string, f func() error) error {
	for attempt := 1; ; attempt++ {
		err := f()
		if err == nil || ctx.Err() != nil {
			return err
		}
		wait, again := pause(err, attempt)
		if !again || attempt == attempts || c.unreachable(err) != "" {
			return err
		}
		if c.o.Notice != nil {
			c.o.Notice(fmt.Sprintf("%s: %s; trying again in %s", what, oneLine(err.Error()), wait.Round(time.Millisecond)))
		}
		if err := c.o.Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// The registry's codes that ghcr.io and others send for a moment although
// nothing is wrong: the upload or the blob has not reached all their machines.
var passingCodes = []string{"BLOB_UPLOAD_UNKNOWN", "BLOB_UPLOAD_INVALID", "BLOB_UNKNOWN", "MANIFEST_BLOB_UNKNOWN", "DIGEST_INVALID",
	"SIZE_INVALID", "TOOMANYREQUESTS", "UNAVAILABLE"}

// Statuses that pass: timeouts, too many requests, trouble behind a proxy.
// 499 and 522 are those of nginx and of a large CDN.
var passingStatus = []int{408, 425, 429, 499, 500, 502, 503, 504, 522}

// rateLimited matches the 403 that means "later" and not "never".
var rateLimited = regexp.MustCompile(`(?i)rate limit|abuse detection|too many requests|retry.after`)

// pause says whether a failure may pass, and how long to wait before the next
// attempt.
func pause(err error, attempt int) (time.Duration, bool) {
	wait := min(250*time.Millisecond<<(attempt-1), 20*time.Second)
	var status *Status
	var source *sourceError
	var path *fs.PathError
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, context.Canceled):
		return 0, false
	case errors.As(err, &status):
		switch {
		case status.Code == http.StatusForbidden:
			if !rateLimited.MatchString(status.Message) {
				return 0, false
			}
			// The limit is counted per minute or longer.
			wait = max(wait, time.Minute)
		case slices.Contains(passingStatus, status.Code):
		case status.Code == http.StatusUnauthorized:
			return 0, false
		case !slices.ContainsFunc(status.Codes, func(code string) bool { return slices.Contains(passingCodes, code) }):
			return 0, false
		}
		if status.Wait > 0 {
			wait = min(status.Wait, 10*time.Minute)
		}
		return wait, true
	case errors.As(err, &source) && errors.As(err, &path):
		return 0, false // a file of ours that cannot be read
	case errors.Is(err, ErrContent):
		return 0, false
	}
	// Everything else is the connection: reset, cut off, timed out, garbled.
	return wait, true
}

// unreachable says what a person can do about a host that no repetition will
// reach: its name has no address, or its certificate is another server's. It is "" for a
// failure that may pass, such as a name server that does not answer now. The
// registries of this machine are asked with TLS and without, where one of the
// two errors says nothing.
func (c *Client) unreachable(err error) string {
	var lookup *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &lookup) && lookup.IsNotFound && !lookup.IsTemporary && !lookup.IsTimeout:
		return fmt.Sprintf("there is no host %s: check the spelling, and whether this machine needs a VPN or a proxy (HTTPS_PROXY) to "+
			"find it; a reference is HOST/NAME:TAG", lookup.Name)
	case c.repo.Scheme() == "http":
	case errors.As(err, &certificate):
		return "the certificate of the registry is not one that this machine trusts: install the authority that signed it " +
			"(SSL_CERT_FILE names a file with it), or check that nothing intercepts the connection"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "that port speaks HTTP without TLS, which is done with localhost alone; put TLS in front of the registry"
	}
	return ""
}

// readStatus turns an answer into a Status.
func readStatus(resp *http.Response) *Status {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	s := &Status{Code: resp.StatusCode}
	var parsed struct {
		Errors []struct{ Code, Message string }
	}
	if json.Unmarshal(body, &parsed) == nil && len(parsed.Errors) > 0 {
		var texts []string
		for _, e := range parsed.Errors {
			s.Codes = append(s.Codes, e.Code)
			texts = append(texts, strings.TrimSpace(e.Code+" "+e.Message))
		}
		s.Message = strings.Join(texts, "; ")
	} else {
		s.Message = string(body)
	}
	s.Wait = waitOf(resp.Header.Get("Retry-After"), s.Message)
	s.Message = oneLine(s.Message)
	if len(s.Message) > 300 {
		s.Message = s.Message[:300] + "…"
	}
	return s
}

// retryAfterText matches the form in which ghcr.io says it in the body.
var retryAfterText = regexp.MustCompile(`(?i)retry-after:\s*([0-9.]+(?:ns|us|µs|ms|s|m|h))`)

// waitOf reads how long to wait: Retry-After as seconds or as a date (RFC 9110
// section 10.2.3), or what the message says.
func waitOf(header, message string) time.Duration {
	if seconds, err := strconv.Atoi(strings.TrimSpace(header)); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(0, time.Until(date))
	}
	if m := retryAfterText.FindStringSubmatch(message); m != nil {
		if d, err := time.ParseDuration(m[1]); err == nil {
			return max(d, time.Millisecond)
		}
	}
	return 0
}

// fromTransport turns the login's own error type into a Status.
func fromTransport(err error) error {
	var t *transport.Error
	if !errors.As(err, &t) {
		return err
	}
	s := &Status{Code: t.StatusCode}
	var texts []string
	for _, d := range t.Errors {
		s.Codes = append(s.Codes, string(d.Code))
		texts = append(texts, strings.TrimSpace(string(d.Code)+" "+d.Message))
	}
	s.Message = oneLine(strings.Join(texts, "; "))
	return s
}

func statusOf(err error) *Status {
	var s *Status
	if errors.As(err, &s) {
		return s
	}
	return nil
}

// ErrAuth reports that the registry does not accept who asks; ErrLimited that
// it did not answer in spite of patience.
var (
	ErrAuth    = errors.New("not allowed")
	ErrLimited = errors.New("too many requests")
)

// explain adds to a failure what was done to what, and what a person can do.
func (c *Client) explain(operation, what string, err error) error {
	if err == nil {
		return nil
	}
	host := c.repo.RegistryStr()
	status := statusOf(err)
	wrapped := fmt.Errorf("%s %s: %w", operation, what, err)
	switch {
	case status != nil && (status.Code == http.StatusTooManyRequests ||
		status.Code == http.StatusForbidden && rateLimited.MatchString(status.Message)):
		return diag.WithHint(fmt.Errorf("%w: %w", ErrLimited, wrapped),
			"the registry asks to wait: run the same command again in a few minutes; what arrived is not sent twice")
	case status != nil && (status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden):
		hint := fmt.Sprintf("the credentials came from %s; ", c.source)
		if c.source == "" {
			hint = "no credentials were found; "
		}
		if host == "ghcr.io" {
			hint += "ghcr.io needs a token with packages: write (in a workflow: permissions: packages: write, and the package must grant " +
				"this repository access)"
		} else {
			hint += fmt.Sprintf("log in with 'docker login %s'", host)
		}
		return diag.WithHint(fmt.Errorf("%w: %w", ErrAuth, wrapped), "%s", hint)
	case errors.As(err, new(*sourceError)):
		return wrapped
	case errors.Is(err, ErrNotFound):
		hint := "check the name and the tag"
		if c.source == "" {
			hint += fmt.Sprintf("; a private image also looks missing until you 'docker login %s'", host)
		}
		return diag.WithHint(wrapped, "%s", hint)
	case status == nil && c.unreachable(err) != "":
		return diag.WithHint(wrapped, "%s", c.unreachable(err))
	case status == nil && diag.HintOf(err) == "":
		return diag.WithHint(wrapped, "check that %s can be reached from here, and run the same command again: what arrived is not sent twice",
			host)
	}
	return wrapped
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
