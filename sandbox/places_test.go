package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// containers plays an engine with containers that run, by their labels.
type containers struct {
	sync.Mutex
	running map[string]map[string]string
}

func (c *containers) engine(t *testing.T) *engine.Engine {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.Lock()
		defer c.Unlock()
		w.Header().Set("Api-Version", "1.41")
		w.Header().Set("Content-Type", "application/json")
		list := []map[string]any{}
		if strings.HasSuffix(r.URL.Path, "/containers/json") {
			for id, labels := range c.running {
				var filters map[string]map[string]bool
				_ = json.Unmarshal([]byte(r.URL.Query().Get("filters")), &filters)
				label, value, valued := strings.Cut(slices.Collect(maps.Keys(filters["label"]))[0], "=")
				if got, ok := labels[label]; ok && (!valued || got == value) {
					list = append(list, map[string]any{"Id": id, "State": "running", "Labels": labels})
				}
			}
		}
		_ = json.NewEncoder(w).Encode(list)
	}))
	t.Cleanup(server.Close)
	t.Setenv("DOCKER_HOST", "tcp://"+server.Listener.Addr().String())
	e, err := engine.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func (c *containers) set(id, label, folder string) {
	c.Lock()
	defer c.Unlock()
	if c.running[id] = map[string]string{label: folder, runplan.LabelRun: id}; folder == "" {
		delete(c.running, id)
	}
}

// overlapping is a run as far as others can see it.
type overlapping struct {
	t      *testing.T
	engine *engine.Engine
	on     *containers
	live   *live
}

// begin makes a run's note and places, in the order of a run, and its container.
func (c *containers) begin(t *testing.T, e *engine.Engine, notes, folder, id string, missing ...string) *overlapping {
	t.Helper()
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	o := &overlapping{t: t, engine: e, on: c}
	if o.live, err = newLive(notes, liveRun{ID: id, Folder: folder, Machine: machine, Engine: e.Host(), Mounts: true}); err != nil {
		t.Fatal(err)
	}
	var list []workspace.Placeholder
	for _, m := range missing {
		list = append(list, workspace.Placeholder{Path: filepath.Join(folder, m), Kind: workspace.Folder})
	}
	lock, err := holdPlaces(notes)
	if err != nil {
		t.Fatal(err)
	}
	placed, err := workspace.Place(folder, list, -1, -1)
	lock.Close()
	if err != nil {
		t.Fatal(err)
	}
	o.live.placed(placed.Made())
	return o
}

func (o *overlapping) start() *overlapping {
	o.on.set(o.live.run.ID, runplan.LabelWorkspace, o.live.run.Folder)
	return o
}

func (o *overlapping) end() {
	notes, folder := filepath.Dir(o.live.name), o.live.run.Folder
	o.on.set(o.live.run.ID, "", "")
	o.live.retire()
	takeBackAll(context.Background(), o.engine, notes, folder)
}

func (o *overlapping) kill() {
	o.on.set(o.live.run.ID, "", "") // its container ends with it
	o.live.leave()
}

// TestWhoEndsLastTakesThePlaceholdersAway: runs and dev containers overlap in one folder,
// and end in any order and any way. Something empty that is mounted over stays as long as
// anybody may use it, and no longer.
func TestWhoEndsLastTakesThePlaceholdersAway(t *testing.T) {
	on := &containers{running: map[string]map[string]string{}}
	e := on.engine(t)
	for name, steps := range map[string]func(begin func(id, part string, missing ...string) *overlapping,
		have func(want ...string), top string){
		"the one that came later ends first": func(begin func(string, string, ...string) *overlapping, have func(...string), _ string) {
			a, b := begin("a", "", "x").start(), begin("b", "", "x", "y").start()
			b.end()
			have("x", "y")
			a.end()
			have()
		},
		"none knew of the other": func(begin func(string, string, ...string) *overlapping, have func(...string), _ string) {
			a, b := begin("a", "", "x"), begin("b", "", "x", "y")
			a.start().end() // b has no container yet
			have("x", "y")
			b.start().end()
			have()
		},
		"in a part": func(begin func(string, string, ...string) *overlapping, have func(...string), _ string) {
			a, b := begin("a", "", "x").start(), begin("b", "part", "y").start()
			a.end()
			have("part/y", "x")
			b.end()
			have()
		},
		"one is killed": func(begin func(string, string, ...string) *overlapping, have func(...string), _ string) {
			a, b := begin("a", "", "x").start(), begin("b", "", "y").start()
			a.kill()
			have("x", "y")
			b.end()
			have()
		},
		"all are killed": func(begin func(string, string, ...string) *overlapping, have func(...string), _ string) {
			begin("a", "", "x").start().kill()
			begin("b", "", "y").start().kill()
			have("x", "y")
			begin("c", "").start().end()
			have()
		},
		"a dev container is last": func(begin func(string, string, ...string) *overlapping, have func(...string), top string) {
			on.set("dev", runplan.LabelFolder, top)
			begin("a", "", "x").start().end()
			have("x")
			on.set("dev", "", "")
			begin("b", "part").start().end()
			have()
		},
		"all end at once": func(begin func(string, string, ...string) *overlapping, have func(...string), _ string) {
			var ends sync.WaitGroup
			for i := range 8 {
				o := begin(fmt.Sprint("run", i), "", "x", fmt.Sprint("y", i)).start()
				ends.Go(o.end)
			}
			ends.Wait()
			have()
		},
	} {
		t.Run(name, func(t *testing.T) {
			top, notes := t.TempDir(), t.TempDir()
			if err := os.Mkdir(filepath.Join(top, "part"), 0o755); err != nil {
				t.Fatal(err)
			}
			have := func(want ...string) {
				t.Helper()
				var left []string
				for _, at := range []string{"", "part"} {
					entries, err := os.ReadDir(filepath.Join(top, at))
					if err != nil {
						t.Fatal(err)
					}
					for _, e := range entries {
						if rel := filepath.ToSlash(filepath.Join(at, e.Name())); rel != "part" {
							left = append(left, rel)
						}
					}
				}
				slices.Sort(left)
				if !slices.Equal(left, want) {
					t.Errorf("the folder has %q, not %q", left, want)
				}
			}
			steps(func(id, part string, missing ...string) *overlapping {
				return on.begin(t, e, notes, filepath.Join(top, part), id, missing...)
			}, have, top)
			said := Reap(t.Context(), notes, func(context.Context) (*engine.Engine, error) { return engine.Connect(t.Context()) }, nil)
			if left := liveNotes(notes); len(left) > 0 || len(said) > 0 {
				t.Errorf("notes stay: %q, %q", left, said)
			}
		})
	}
}
