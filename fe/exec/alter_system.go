package exec

import (
	"net"
	"strconv"
	"strings"

	"dorisgo/doriserr"
	"dorisgo/meta"
	"dorisgo/sql/ddl"
)

// alterSystem runs ALTER SYSTEM on backends. They register themselves, so that
// ADD BACKEND only looks whether one is there.
func (s *Session) alterSystem(st *ddl.AlterSystem) (meta.Command, error) {
	if len(st.Hosts) != 1 {
		return nil, doriserr.New(doriserr.Unsupported, "ALTER SYSTEM takes one node at a time")
	}
	host := st.Hosts[0]
	var be *meta.Backend
	s.srv.Node.View(func(state *meta.State) {
		for _, b := range state.Backends() {
			if hostPort(b.Host, b.HeartbeatPort) == host || itoa(b.ID) == host {
				be = b
			}
		}
	})
	switch st.Action {
	case ddl.AddBackend:
		if be != nil {
			return nil, doriserr.New(doriserr.Analysis, "Same backend already exists[%s]", host)
		}
		return nil, doriserr.New(doriserr.Unsupported, "backends register by themselves: start one with fe_hosts naming a frontend")
	case ddl.DropBackend:
		return nil, doriserr.New(doriserr.Analysis, "It is highly NOT RECOMMENDED to use DROP BACKEND stmt.It is not safe to directly drop a backend. All data on this backend will be discarded permanently. If you insist, use DROPP instead of DROP")
	}
	if be == nil {
		return nil, doriserr.New(doriserr.Analysis, "Backend does not exist[%s]", host)
	}
	switch st.Action {
	case ddl.DropBackendForce:
		return &meta.DropBackend{ID: be.ID, Force: true}, nil
	case ddl.DecommissionBackend:
		return &meta.DecommissionBackend{ID: be.ID}, nil
	case ddl.CancelDecommission:
		return &meta.DecommissionBackend{ID: be.ID, Cancel: true}, nil
	case ddl.ModifyBackend:
		return modifyBackend(be, st.Properties)
	}
	return nil, doriserr.New(doriserr.Unsupported, "this form of ALTER SYSTEM is not supported yet")
}

// modifyBackend reads the properties of MODIFY BACKEND. An empty value takes an
// endpoint away.
func modifyBackend(be *meta.Backend, props []ddl.Property) (meta.Command, error) {
	if len(props) == 0 {
		return nil, doriserr.New(doriserr.Analysis, "MODIFY BACKEND needs SET (\"key\" = \"value\"): the keys are tag.%s and tag.%s", meta.TagPublicEndpoint, meta.TagPrivateEndpoint)
	}
	c := &meta.ModifyBackend{ID: be.ID}
	for _, p := range props {
		key, tag := strings.CutPrefix(strings.ToLower(p.Key), "tag.")
		value := strings.TrimSpace(p.Value)
		switch {
		case tag && (key == meta.TagPublicEndpoint || key == meta.TagPrivateEndpoint):
			if err := checkEndpoint(value); err != nil {
				return nil, err
			}
			c.Tags = append(c.Tags, meta.Tag{Key: key, Value: value})
		case tag && key == "location":
			if value != "default" {
				return nil, doriserr.New(doriserr.Unsupported, "resource groups are not supported yet: tag.location can only be default, found: %s", p.Value)
			}
		default:
			return nil, doriserr.New(doriserr.Unsupported, "backend property %s is not supported, the keys are tag.%s and tag.%s", p.Key, meta.TagPublicEndpoint, meta.TagPrivateEndpoint)
		}
	}
	return c, nil
}

// checkEndpoint checks host:port; an IPv6 address has brackets.
func checkEndpoint(v string) error {
	if v == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(v)
	if err != nil || host == "" || strings.ContainsAny(v, " /@?#\\\t\r\n") {
		return doriserr.New(doriserr.Analysis, "Invalid endpoint: %s, must be host:port", v)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return doriserr.New(doriserr.Analysis, "Invalid endpoint port: %s", port)
	}
	return nil
}

// backendTags is the Tag column of SHOW BACKENDS.
func backendTags(b *meta.Backend) string {
	var out strings.Builder
	out.WriteString(`{"location" : "default"`)
	for _, t := range b.Tags {
		out.WriteString(", " + strconv.Quote(t.Key) + " : " + strconv.Quote(t.Value))
	}
	return out.String() + "}"
}
