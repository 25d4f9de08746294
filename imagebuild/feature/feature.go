package feature

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/shellword"
)

// Variable is one of the environment.
type Variable struct{ Name, Value string }

// Feature is one Feature as it is installed.
type Feature struct {
	Name    string            // for people
	Options []Variable        // of install.sh
	Env     []Variable        // of the image, from install.sh on
	Files   []imagebuild.File // of its folder, install.sh among them
}

// Users are those that an install.sh is told of.
type Users struct {
	Container string // who starts the container
	Remote    string // who works in it
	Image     string // who starts containers of the image; "" = root
}

// In writes a Dockerfile that installs features on the image base, with what it
// copies, into a folder of its own for as long as use works.
func In(base string, users Users, features []Feature, use func(folder string) error) error {
	text, err := dockerfile(base, users, features)
	if err != nil {
		return err
	}
	files := []imagebuild.File{{Name: "Dockerfile", Data: []byte(text)}}
	for i, f := range features {
		files = append(files, imagebuild.File{Name: fmt.Sprintf("%d/run.sh", i), Executable: true, Data: []byte(script(users, f))})
		for _, file := range f.Files {
			if !filepath.IsLocal(filepath.FromSlash(file.Name)) {
				return fmt.Errorf("the Feature %s: %s leads out of its folder", f.Name, file.Name)
			}
			file.Name = fmt.Sprintf("%d/feature/%s", i, file.Name)
			files = append(files, file)
		}
	}
	return imagebuild.InFolder(files, use)
}

// place is where the steps of the build work.
const place = "/tmp/sbx-devc-features"

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// inDockerfile escapes a value of ENV: variables in it stay variables.
	inDockerfile = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
)

func dockerfile(base string, users Users, features []Feature) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "FROM %s\nUSER root\n", base)
	for i, f := range features {
		for _, v := range f.Env {
			if !variableName.MatchString(v.Name) || strings.ContainsAny(v.Value, "\r\n") {
				return "", fmt.Errorf("the Feature %s sets the variable %q, which no Dockerfile can hold", f.Name, v.Name)
			}
			fmt.Fprintf(&b, "ENV %s=\"%s\"\n", v.Name, inDockerfile.Replace(v.Value))
		}
		fmt.Fprintf(&b, "COPY %d %s/%d\n", i, place, i)
		fmt.Fprintf(&b, "RUN cd %s/%d && chmod -R 0755 . && sh ./run.sh && cd / && rm -rf %s\n", place, i, place)
	}
	user := cmp.Or(users.Image, "root")
	if strings.ContainsAny(base+user, " \t\r\n$") {
		return "", errors.New("the image or its user has a name that no Dockerfile can hold")
	}
	fmt.Fprintf(&b, "USER %s\n", user)
	return b.String(), nil
}

// script runs a Feature's install.sh with the variables that the specification gives it.
func script(users Users, f Feature) string {
	var b strings.Builder
	b.WriteString(`set -e
entry() {
  if command -v getent >/dev/null 2>&1; then getent passwd "$1"; else grep -E "^$1:|^[^:]*:[^:]*:$1:" /etc/passwd; fi || true
}
`)
	for _, v := range []Variable{{"_CONTAINER_USER", users.Container}, {"_REMOTE_USER", users.Remote}} {
		fmt.Fprintf(&b, "export %[1]s=%[2]s\n%[1]s_HOME=$(entry \"$%[1]s\" | head -n 1 | cut -d: -f6)\nexport %[1]s_HOME\n",
			v.Name, shellword.Quote(v.Value))
	}
	for _, v := range f.Options {
		if variableName.MatchString(v.Name) {
			fmt.Fprintf(&b, "export %s=%s\n", v.Name, shellword.Quote(v.Value))
		}
	}
	b.WriteString("cd feature\nexec ./install.sh\n")
	return b.String()
}
