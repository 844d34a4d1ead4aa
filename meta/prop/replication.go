package prop

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dorisgo/meta"
)

// tagLocation starts the name of a resource group; we have the default one.
const tagLocation = "tag.location"

const (
	replicationNum        = "replication_num"
	replicationAllocation = "replication_allocation"
)

// Allocation is a number of replicas in the form of replication_allocation.
func Allocation(replicas int32) string { return fmt.Sprintf("%s: %d", defaultTag, replicas) }

func parseReplicationNum(c *context, name, v string) error {
	n, err := strconv.ParseInt(v, 10, 16)
	if err != nil {
		return bad("Invalid %s format: %s", name, v)
	}
	if n <= 0 {
		return bad("Replication num should be greater than 0, not %s", v)
	}
	c.p.ReplicationNum = int32(n)
	return nil
}

// parseAllocation reads "tag.location.default: 3"; spaces do not count.
func parseAllocation(c *context, _, v string) error {
	for location := range strings.SplitSeq(strings.ReplaceAll(v, " ", ""), ",") {
		tag, num, ok := strings.Cut(location, ":")
		if !ok || strings.Contains(num, ":") {
			return bad("Invalid replication allocation property: %s", location)
		}
		if !strings.HasPrefix(tag, tagLocation) {
			return bad("Invalid replication allocation tag property: %s", location)
		}
		if strings.TrimPrefix(strings.TrimPrefix(tag, tagLocation), ".") == "" {
			return bad("Invalid replication allocation location tag property: %s", location)
		}
		if tag != defaultTag {
			return bad("Invalid replication_allocation: %s, only %s is supported", v, defaultTag)
		}
		if err := parseReplicationNum(c, replicationAllocation, num); err != nil {
			return err
		}
	}
	return nil
}

// oneAllocation sets aside what Doris does not look at: replication_allocation
// beside replication_num.
func oneAllocation(props []Property) (used, unknown []Property) {
	has := func(name string) bool {
		return slices.ContainsFunc(props, func(kv Property) bool { return named(kv.Key, name) })
	}
	if !has(replicationNum) || !has(replicationAllocation) {
		return props, nil
	}
	for _, kv := range props {
		if named(kv.Key, replicationAllocation) {
			unknown = append(unknown, kv)
		} else {
			used = append(used, kv)
		}
	}
	return used, unknown
}

func named(key, name string) bool { return strings.EqualFold(strings.TrimSpace(key), name) }

func showAllocation(t *meta.Table) (string, bool) { return Allocation(t.Props.ReplicationNum), true }
