package groupcommit

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocNamesTests: every test that doc.go names as the guard of an invariant
// exists.
func TestDocNamesTests(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	names := regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(string(doc), -1)
	if len(names) < 12 {
		t.Fatalf("doc.go names only %d tests", len(names))
	}
	for _, name := range names {
		if !strings.Contains(all.String(), "func "+name+"(") {
			t.Errorf("doc.go names %s, which does not exist", name)
		}
	}
}
