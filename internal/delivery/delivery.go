package delivery

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Folder is where the files are in the container. Its file system is in memory and of its
// own, and belongs to the container's user.
const Folder = "/.sbx-secrets"

// pipe is the name in Folder of what the parcel comes through. It is no name of a secret.
const pipe = ".pipe"

// MaxSize bounds an encoded parcel, in bytes.
const MaxSize = 4 << 20

// Parcel is what the command gets.
type Parcel struct {
	Env   []string          `json:"env,omitempty"`   // NAME=value, in addition to the container's; of a name the last one counts
	Files map[string][]byte `json:"files,omitempty"` // in Folder, by name
}

// Empty reports whether there is nothing to deliver.
func (p Parcel) Empty() bool { return len(p.Env) == 0 && len(p.Files) == 0 }

// File is where the file of a name is in the container.
func File(name string) string { return path.Join(Folder, name) }

var fileName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// Encode returns the parcel as bytes. It errs on what Decode refuses.
func (p Parcel) Encode() ([]byte, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	_, err = Decode(text)
	return text, err
}

// Decode reads a parcel. It errs on one that is larger than MaxSize, on names of files
// that lead elsewhere and on texts that are no variables; errors hold no value.
func Decode(text []byte) (p Parcel, err error) {
	if len(text) > MaxSize {
		return Parcel{}, fmt.Errorf("more than %d bytes are to be delivered", MaxSize)
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return Parcel{}, errors.New("the delivered secrets cannot be read")
	}
	for name := range p.Files {
		if !fileName.MatchString(name) {
			return Parcel{}, fmt.Errorf("%q is not the name of a secret", name)
		}
	}
	for _, v := range p.Env {
		name, _, found := strings.Cut(v, "=")
		switch {
		case !found || name == "": // all of it may be a value
			return Parcel{}, errors.New("a variable has no name")
		case strings.ContainsRune(v, 0):
			return Parcel{}, fmt.Errorf("the value of %q holds a NUL character, which no variable can: deliver it as a file", name)
		}
	}
	return p, nil
}

// Merge returns an environment with variables on top: of a name the last one counts.
func Merge(environ, more []string) []string {
	at := map[string]int{}
	var out []string
	for _, v := range slices.Concat(environ, more) {
		name, _, _ := strings.Cut(v, "=")
		if i, ok := at[name]; ok {
			out[i] = v
			continue
		}
		at[name] = len(out)
		out = append(out, v)
	}
	return out
}
