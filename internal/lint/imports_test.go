package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "dorisgo/"

type listed struct {
	ImportPath  string
	Imports     []string
	TestImports []string
	XTestImport []string `json:"XTestImports"`
}

// list is every package of the module, with its direct imports.
func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "dorisgo/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var pkgs []listed
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// place is the tier of a package and the entry that names it: the longest one.
func place(pkg string) (tier int, entry string) {
	tier = -1
	for i, entries := range tiers {
		for _, e := range entries {
			if (pkg == e || strings.HasPrefix(pkg, e+"/")) && len(e) > len(entry) {
				tier, entry = i, e
			}
		}
	}
	return tier, entry
}

func TestImportsRunDown(t *testing.T) {
	for _, p := range list(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		tier, entry := place(from)
		if tier < 0 {
			t.Errorf("%s is in no tier: give it a place in internal/lint/tiers.go", from)
			continue
		}
		for _, imp := range p.Imports {
			if !strings.HasPrefix(imp, module) {
				continue
			}
			to := strings.TrimPrefix(imp, module)
			toTier, toEntry := place(to)
			if toTier >= tier && toEntry != entry && !sameFolder(from, to) {
				t.Errorf("%s (tier %d) imports %s (tier %d): imports run down only; take an interface on the side of %s, or move the code", from, tier, to, toTier, from)
			}
		}
	}
}

// sameFolder allows a folder's own packages to use each other, across the
// entries that split it (groupcommit and groupcommit/wal).
func sameFolder(a, b string) bool {
	top := func(s string) string { return strings.SplitN(s, "/", 2)[0] }
	return top(a) == top(b) && top(a) != "internal" && top(a) != "rpc" && top(a) != "query"
}

func TestEnginesHaveOneDoor(t *testing.T) {
	for _, p := range list(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		for _, imp := range p.Imports {
			for _, d := range doors {
				if imp != d.module && !strings.HasPrefix(imp, d.module+"/") && !strings.HasPrefix(imp, d.module+"-") {
					continue
				}
				allowed := false
				for _, e := range d.doors {
					allowed = allowed || from == e || strings.HasPrefix(from, e+"/")
				}
				if !allowed {
					t.Errorf("%s imports %s: %s; use %s instead", from, imp, d.because, d.instead)
				}
			}
		}
	}
}
