// Package metrics are a BE's Prometheus metrics: dorisgo_be_* in Prometheus'
// conventions, and doris_be_* beside them where dashboards read Doris' names.
package metrics

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"dorisgo/groupcommit"
	"dorisgo/groupcommit/wal"
	"dorisgo/storage"
)

// Metrics are the metrics of one BE in a registry of their own.
type Metrics struct {
	reg      *prometheus.Registry
	commits  *prometheus.CounterVec
	failures prometheus.Counter
	seconds  prometheus.Histogram
	steps    *prometheus.HistogramVec
	groups   *groupcommit.Manager
	wals     *wal.Manager
	engine   *storage.Engine
}

// New makes the metrics of a BE.
func New(e *storage.Engine, w *wal.Manager) *Metrics {
	m := &Metrics{
		reg: prometheus.NewRegistry(), engine: e, wals: w,
		commits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dorisgo_be_group_commits_total", Help: "Groups committed, by what sealed them.",
		}, []string{"sealed"}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dorisgo_be_group_commit_failures_total", Help: "Groups whose waiters got an error.",
		}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "dorisgo_be_group_commit_seconds", Help: "Time from the seal of a group to its commit.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
	}
	m.steps = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "dorisgo_be_load_step_seconds", Help: "Time of the steps of a load or group: build, write, commit.", Buckets: prometheus.ExponentialBuckets(0.00025, 2, 16),
	}, []string{"step"})
	m.reg.MustRegister(m.commits, m.failures, m.seconds, m.steps, m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Watch adds the group commit manager, once it exists.
func (m *Metrics) Watch(g *groupcommit.Manager) { m.groups = g }

// Step notes how long a step of a load took.
func (m *Metrics) Step(step string, took time.Duration) {
	m.steps.WithLabelValues(step).Observe(took.Seconds())
}

// Registry takes the metrics of other parts of the BE.
func (m *Metrics) Registry() prometheus.Registerer { return m.reg }

// Handler serves /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.reg, promhttp.HandlerOpts{})
}

// Events logs and counts what group commit tells.
func (m *Metrics) Events(log *slog.Logger) groupcommit.Events {
	attrs := func(g groupcommit.GroupInfo) []any {
		return []any{"table", g.Table, "table_id", g.TableID, "txn_id", g.TxnID, "label", g.Label, "rows", g.Rows, "loads", g.Loads}
	}
	return groupcommit.Events{
		Committed: func(g groupcommit.GroupInfo, sealed groupcommit.SealReason, took time.Duration) {
			reason := string(sealed)
			if reason == "" {
				reason = "replay"
			}
			m.commits.WithLabelValues(reason).Inc()
			m.seconds.Observe(took.Seconds())
			log.Debug("group committed", append(attrs(g), "sealed", reason, "took", took)...)
		},
		Failed: func(g groupcommit.GroupInfo, err error) {
			m.failures.Inc()
			log.Warn("group failed; every waiter was told", append(attrs(g), "err", err)...)
		},
		Parked: func(g groupcommit.GroupInfo, err error) {
			log.Warn("group waits in its WAL and is tried again", append(attrs(g), "err", err)...)
		},
		ReplayFailed: func(g groupcommit.GroupInfo, err error, next time.Time) {
			log.Warn("replay failed and is tried again", append(attrs(g), "next", next, "err", err)...)
		},
		Quarantined: func(path string, reason wal.Reason, detail error) {
			log.Error("a WAL file was set aside: its rows are not in the table", "path", path, "reason", reason, "err", detail)
		},
		Torn: func(path string, detail error) {
			log.Warn("a WAL file ends in an unfinished frame; what precedes it is replayed", "path", path, "err", detail)
		},
		Foreign: func(path string) { log.Warn("a file in a WAL directory is not one of ours", "path", path) },
		WALFailed: func(g groupcommit.GroupInfo, err error) {
			log.Error("a WAL file failed; its group is committed from memory", append(attrs(g), "err", err)...)
		},
	}
}

var (
	loadsDesc    = prometheus.NewDesc("dorisgo_be_group_commit_loads_total", "Loads that joined a group.", nil, nil)
	rowsDesc     = prometheus.NewDesc("dorisgo_be_group_commit_rows_total", "Rows that joined a group.", nil, nil)
	switchedDesc = prometheus.NewDesc("dorisgo_be_group_commit_async_to_sync_total", "Async loads that ran as sync for lack of WAL space.", nil, nil)
	fsyncsDesc   = prometheus.NewDesc("dorisgo_be_wal_fsyncs_total", "Frames written and fsynced.", nil, nil)
	recordsDesc  = prometheus.NewDesc("dorisgo_be_wal_records_total", "Loads written to the WAL.", nil, nil)
	walBytesDesc = prometheus.NewDesc("dorisgo_be_wal_bytes_total", "Bytes written to the WAL.", nil, nil)
	walFailDesc  = prometheus.NewDesc("dorisgo_be_wal_failures_total", "WAL files that died of a write or fsync error.", nil, nil)
	filesDesc    = prometheus.NewDesc("doris_be_wal_files", "WAL files by table, all states.", []string{"table_id"}, nil)
	replayFail   = prometheus.NewDesc("doris_be_wal_replay_failures_total", "Attempts to replay a WAL that failed.", nil, nil)
	quarantined  = prometheus.NewDesc("doris_be_wal_quarantined_total", "WAL files that were set aside, but for those that a crash left without a header.", nil, nil)
	tabletsDesc  = prometheus.NewDesc("dorisgo_be_tablets", "Tablets with rows.", nil, nil)
	rowsetsDesc  = prometheus.NewDesc("dorisgo_be_rowsets", "Rowsets of all tablets, by where their rows are.", []string{"kind"}, nil)
	mostDesc     = prometheus.NewDesc("doris_be_tablet_base_max_compaction_score", "Rowsets of the tablet that has most: what a read of it merges.", nil, nil)
	mostFiles    = prometheus.NewDesc("dorisgo_be_tablet_max_files", "Files of the tablet that has most.", nil, nil)
	flushesDesc  = prometheus.NewDesc("dorisgo_be_flushes_total", "Flushes of inline rowsets into files.", nil, nil)
	compactDesc  = prometheus.NewDesc("dorisgo_be_compactions_total", "Compactions of files.", nil, nil)
	compactBytes = prometheus.NewDesc("doris_be_compaction_bytes_total", "File bytes that compactions read.", nil, nil)
	diskState    = prometheus.NewDesc("doris_be_disks_state", "1 while a storage root is in service.", []string{"path"}, nil)
	diskTotal    = prometheus.NewDesc("doris_be_disks_total_capacity", "Size of a storage root's disk in bytes.", []string{"path"}, nil)
	diskAvail    = prometheus.NewDesc("doris_be_disks_avail_capacity", "Free space of a storage root's disk in bytes.", []string{"path"}, nil)
	diskBallast  = prometheus.NewDesc("dorisgo_be_disk_ballast_bytes", "Size of a storage root's ballast file, 0 while it is gone.", []string{"path"}, nil)
	diskDrops    = prometheus.NewDesc("dorisgo_be_disk_ballast_drops_total", "Times that a ballast file was given up for lack of space.", []string{"path"}, nil)
	diskRefused  = prometheus.NewDesc("dorisgo_be_disk_refused_total", "Writes that were refused for lack of space.", []string{"path"}, nil)
	totalDesc    = prometheus.NewDesc("doris_be_wal_total_count", "WAL files of all tables.", nil, nil)
)

// Describe implements prometheus.Collector: the metrics depend on the tables.
func (m *Metrics) Describe(chan<- *prometheus.Desc) {}

// disks are the metrics of the storage roots.
func (m *Metrics) disks(ch chan<- prometheus.Metric) {
	for _, d := range m.engine.Disks() {
		state := 0.0
		if d.InService {
			state = 1
		}
		for _, x := range []struct {
			desc  *prometheus.Desc
			typ   prometheus.ValueType
			value float64
		}{
			{diskState, prometheus.GaugeValue, state},
			{diskTotal, prometheus.GaugeValue, float64(d.Total)},
			{diskAvail, prometheus.GaugeValue, float64(d.Avail)},
			{diskBallast, prometheus.GaugeValue, float64(d.Ballast)},
			{diskDrops, prometheus.CounterValue, float64(d.BallastDrops)},
			{diskRefused, prometheus.CounterValue, float64(d.Refused)},
		} {
			ch <- prometheus.MustNewConstMetric(x.desc, x.typ, x.value, d.Path)
		}
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, v int64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v))
	}
	w := m.wals.Counters()
	counter(fsyncsDesc, w.Frames)
	counter(recordsDesc, w.Records)
	counter(walBytesDesc, w.Bytes)
	counter(walFailDesc, w.Failures)
	total := 0
	for table, n := range m.wals.Counts() {
		total += n
		ch <- prometheus.MustNewConstMetric(filesDesc, prometheus.GaugeValue, float64(n), strconv.FormatInt(table, 10))
	}
	ch <- prometheus.MustNewConstMetric(totalDesc, prometheus.GaugeValue, float64(total))
	gauge := func(d *prometheus.Desc, v int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	m.disks(ch)
	s := m.engine.Stats()
	gauge(tabletsDesc, s.Tablets)
	gauge(rowsetsDesc, s.Files, "file")
	gauge(rowsetsDesc, s.Inline, "inline")
	gauge(mostDesc, s.MostRowsets)
	gauge(mostFiles, s.MostFiles)
	counter(flushesDesc, s.Flushes)
	counter(compactDesc, s.Compactions)
	counter(compactBytes, s.CompactedBytes)
	if m.groups == nil {
		return
	}
	c := m.groups.Counters()
	counter(loadsDesc, c.Loads.Load())
	counter(rowsDesc, c.Rows.Load())
	counter(switchedDesc, c.Switched.Load())
	counter(replayFail, c.ReplayFailures.Load())
	counter(quarantined, c.Quarantined.Load())
}
