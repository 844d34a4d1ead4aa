package duck

import (
	"context"
	"fmt"
	"sync"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// instance is one in-memory DuckDB database with locked settings. It is
// reference-counted: the DB holds one reference while the instance is in
// service, each open connection holds one, and the last one closes it.
type instance struct {
	db mapping.Database

	mu     sync.Mutex
	refs   int
	closed chan struct{}
}

func openInstance(o Options) (*instance, error) {
	var cfg mapping.Config
	if mapping.CreateConfig(&cfg) == mapping.StateError {
		return nil, fmt.Errorf("duck: cannot make a configuration")
	}
	defer mapping.DestroyConfig(&cfg)
	var db mapping.Database
	var msg string
	if mapping.OpenExt("", &db, cfg, &msg) == mapping.StateError {
		return nil, fmt.Errorf("duck: cannot open an instance: %s", msg)
	}
	in := &instance{db: db, refs: 1, closed: make(chan struct{})}
	c, err := in.connect()
	if err != nil {
		in.release()
		return nil, err
	}
	defer in.release()
	defer c.close()
	for _, s := range o.settings() {
		if err := c.exec(context.Background(), s); err != nil {
			return nil, fmt.Errorf("duck: %s: %w", s, err)
		}
	}
	in.retain()
	return in, nil
}

func (in *instance) retain() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.refs++
}

func (in *instance) release() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.refs--
	if in.refs == 0 {
		mapping.Close(&in.db)
		close(in.closed)
	}
}

// connect opens a connection, which holds a reference to the instance.
func (in *instance) connect() (*conn, error) {
	c := &conn{in: in}
	if mapping.Connect(in.db, &c.raw) == mapping.StateError {
		mapping.Disconnect(&c.raw)
		return nil, &engineError{"FATAL Error: cannot connect to the instance"}
	}
	in.retain()
	return c, nil
}
