package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// netlinkFile is the one file that builds and reads the bytes of netlink messages.
const netlinkFile = "firewall/kernel/netlink_linux.go"

// The processes with rights over the network are written in Go: each use of unsafe has a
// sentence that says why it is needed, and a netlink socket is opened in one file alone.
func TestUnsafeSaysWhyAndNetlinkIsSpokenInOneFile(t *testing.T) {
	uses, sockets := 0, 0
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "testdata" || name == filepath.Join(root, "internal", "test")):
			return filepath.SkipDir
		case e.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		places := token.NewFileSet()
		file, err := parser.ParseFile(places, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		explained := map[int]bool{} // lines below a sentence
		for _, group := range file.Comments {
			if end := places.Position(group.End()).Line; strings.HasPrefix(group.Text(), "unsafe: ") {
				explained[end+1] = true
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch s := n.(type) {
			case *ast.SelectorExpr:
				of, _ := s.X.(*ast.Ident)
				if of == nil {
					return true
				}
				at := places.Position(s.Pos())
				switch {
				case of.Name == "unsafe":
					uses++
					if !explained[at.Line] && !explained[at.Line-1] {
						t.Errorf("%s:%d uses unsafe without a comment '// unsafe: …' above it", at.Filename, at.Line)
					}
				case of.Name == "unix" && s.Sel.Name == "SockaddrNetlink":
					sockets++
					if rel, _ := filepath.Rel(root, name); filepath.ToSlash(rel) != netlinkFile {
						t.Errorf("%s:%d opens a netlink socket: %s does", at.Filename, at.Line, netlinkFile)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil || uses == 0 || sockets != 1 {
		t.Errorf("%d uses of unsafe, %d netlink sockets: %v", uses, sockets, err)
	}
}
