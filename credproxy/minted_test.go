package credproxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func mintedName(n int64) string { return fmt.Sprintf("sk-ant-oat01-minted-%08d", n) }

// Attack: the upstream repeats the token of this request and the ones before, which are no
// secrets that were there when the proxy began.
func TestAttackAnUpstreamThatRepeatsMintedTokens(t *testing.T) {
	var made atomic.Int64
	upstream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Request-Id", r.Header.Get("Authorization"))
		fmt.Fprintf(w, `{"said":%q,"beta":%q,"first":%q}`, r.Header.Get("Authorization"), r.Header.Get("Anthropic-Beta"), mintedName(1))
	})
	f := newFixture(t, upstream, func(o *Options) {
		o.Credential = Minted(func(context.Context) (string, time.Duration, error) { return mintedName(made.Add(1)), 0, nil })
	})
	for range 3 {
		got := f.post(t)
		if got.status != http.StatusOK || !strings.Contains(got.body, "Bearer ***") || !strings.Contains(got.body, oauthBeta) ||
			strings.Contains(got.body+fmt.Sprint(got.header), "minted-") {
			t.Fatalf("%+v", got)
		}
	}
	if made.Load() != 3 {
		t.Errorf("%d tokens were made for 3 requests", made.Load())
	}
	if log := f.log(); strings.Contains(log, "minted-") {
		t.Errorf("the log: %s", log)
	}
}

// A token is made once for all that ask at a time, and for as long as it lasts.
func TestATokenIsMintedOnceAtATime(t *testing.T) {
	var made atomic.Int64
	f := newFixture(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+mintedName(1) {
			t.Errorf("%q", r.Header.Get("Authorization"))
		}
	}), func(o *Options) {
		o.Credential = Minted(func(context.Context) (string, time.Duration, error) { return mintedName(made.Add(1)), time.Hour, nil })
		if err := o.Credential.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { f.post(t) })
	}
	all.Wait()
	if made.Load() != 1 {
		t.Errorf("%d tokens were made", made.Load())
	}
}

func TestATokenThatCannotBeMinted(t *testing.T) {
	f := newFixture(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request came without a token") }),
		func(o *Options) {
			o.Credential = Minted(func(context.Context) (string, time.Duration, error) { return "", 0, errors.New("nobody signs") })
		})
	if got := f.post(t); got.status != http.StatusBadGateway || !strings.Contains(got.body, "nobody signs") {
		t.Errorf("%+v", got)
	}
}
