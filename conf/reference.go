package conf

import (
	"fmt"
	"strings"
)

// Reference is the text of docs/configuration.md.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Configuration

This page is generated from package conf; ` + "`go test ./conf -update`" + ` writes it anew.

Each key can be set in four places; the later wins:

1. the default below,
2. the role's file (` + "`fe.conf`, `be.conf`" + `): lines of ` + "`key = value`" + `; lines that start with # are comments, ` + "`${NAME}`" + ` is
   replaced by the environment variable, and unknown keys are ignored with a warning,
3. the environment: ` + "`DORISGO_<KEY>`" + ` in upper case, for example ` + "`DORISGO_QUERY_PORT=9031`" + `,
4. flags: ` + "`--set key=value`" + `.

Keys marked *mutable* can be changed while the node runs: ` + "`ADMIN SET FRONTEND CONFIG (\"key\" = \"value\")`" + ` for a
frontend, ` + "`POST /api/update_config?key=value`" + ` for a backend. Sizes take bytes, K, M, G or T; where it says so, a percentage.
`)
	reference(&b, "Frontend (fe.conf)", DefaultFE().Entries())
	reference(&b, "Backend (be.conf)", DefaultBE().Entries())
	return b.String()
}

func reference(b *strings.Builder, title string, entries []Entry) {
	fmt.Fprintf(b, "\n## %s\n", title)
	section := ""
	for _, e := range entries {
		if e.Section != section {
			section = e.Section
			fmt.Fprintf(b, "\n### %s\n\n| key | default | type | meaning |\n|---|---|---|---|\n", section)
		}
		def, kind := "", e.Type
		if e.Default != "" {
			def = "`" + e.Default + "`"
		}
		if e.Mutable {
			kind += ", mutable"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", e.Key, def, kind, e.Doc)
	}
}
