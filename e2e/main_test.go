package e2e

import (
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// binary is the path of the dorisgo that TestMain built.
var binary string

func TestMain(m *testing.M) {
	// The tests wait for others most of their time.
	_ = flag.Set("test.parallel", strconv.Itoa(max(4, 2*runtime.GOMAXPROCS(0)))) // a flag of package testing
	flag.Parse()
	// The driver reports each connection that a crash cuts.
	_ = mysql.SetLogger(log.New(io.Discard, "", 0)) // only nil is refused
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "dorisgo-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := readSources(".."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binary = filepath.Join(dir, "dorisgo")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "./cmd/dorisgo")
	build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "cannot build the binary: %s\n%s", err, out)
		return 1
	}
	return m.Run()
}

// readSources opens each source directory, so that the go command, which
// remembers what a test opened, runs these tests again when any package of the
// binary changed.
func readSources(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "bin" || name == "data" || name == "testdata") {
			return filepath.SkipDir
		}
		return nil
	})
}
