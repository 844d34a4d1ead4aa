package fe

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"dorisgo/meta"
)

var (
	connectionsDesc = prometheus.NewDesc("doris_fe_connection_total", "MySQL connections now.", nil, nil)
	leaderDesc      = prometheus.NewDesc("dorisgo_fe_is_leader", "1 if this frontend leads.", nil, nil)
	appliedDesc     = prometheus.NewDesc("dorisgo_fe_applied_index", "Index of the last command applied.", nil, nil)
	aliveDesc       = prometheus.NewDesc("doris_fe_backend_alive", "1 for each backend that is alive.", []string{"backend_id", "host"}, nil)
	committedDesc   = prometheus.NewDesc("dorisgo_fe_committed_txns", "Transactions that wait to become visible.", nil, nil)
	unhealthyDesc   = prometheus.NewDesc("dorisgo_fe_unhealthy_tablets", "Tablets that have fewer whole replicas than they should.", nil, nil)
	cloningDesc     = prometheus.NewDesc("dorisgo_fe_running_clones", "Replicas that are being filled from others.", nil, nil)
	clonesDesc      = prometheus.NewDesc("dorisgo_fe_clones_total", "Clones that ended, by result.", []string{"result"}, nil)
	cloneBytesDesc  = prometheus.NewDesc("dorisgo_fe_clone_bytes_total", "Bytes that clones fetched.", nil, nil)
	replicasDesc    = prometheus.NewDesc("dorisgo_fe_replica_changes_total", "Replicas that were added and dropped.", []string{"change"}, nil)
	againDesc       = prometheus.NewDesc("dorisgo_fe_queries_planned_again_total", "Plans of queries that were made because a replica could not be read.", nil, nil)
	comparedDesc    = prometheus.NewDesc("dorisgo_fe_consistency_checks_total", "Tablets whose replicas were compared, by result.", []string{"result"}, nil)
	distrustedDesc  = prometheus.NewDesc("dorisgo_fe_distrusted_replicas_total", "Replicas taken out of service because most others have other rows.", nil, nil)
	undecidedDesc   = prometheus.NewDesc("dorisgo_fe_undecided_txns", "Transactions that are not decided.", nil, nil)
)

// steps are the times that the steps of commits take.
type steps struct{ *prometheus.HistogramVec }

func newSteps() steps {
	return steps{prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "dorisgo_fe_commit_step_seconds", Help: "Time of the steps of a commit: log, publish, report, visible.", Buckets: prometheus.ExponentialBuckets(0.00025, 2, 16),
	}, []string{"step"})}
}

func (s steps) observe(step string, took time.Duration) {
	s.WithLabelValues(step).Observe(took.Seconds())
}

// collector reads the node's state when metrics are asked for.
type collector struct{ n *Node }

// Describe implements prometheus.Collector: the metrics depend on the backends.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	number := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	gauge(connectionsDesc, float64(c.n.MySQL.Connections()))
	gauge(leaderDesc, number(c.n.Raft.IsLeader()))
	gauge(appliedDesc, float64(c.n.Raft.AppliedIndex()))
	s := c.n.sched.Stats()
	gauge(unhealthyDesc, float64(s.Unhealthy))
	gauge(cloningDesc, float64(s.Running))
	counter := func(d *prometheus.Desc, v int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	counter(clonesDesc, s.Cloned, "success")
	counter(clonesDesc, s.Failed, "failure")
	counter(cloneBytesDesc, s.Bytes)
	counter(replicasDesc, s.Added, "added")
	counter(replicasDesc, s.Dropped, "dropped")
	k := c.n.checker.Stats()
	counter(comparedDesc, k.Tablets-k.Differ, "equal")
	counter(comparedDesc, k.Differ, "different")
	counter(distrustedDesc, k.Distrusted)
	ch <- prometheus.MustNewConstMetric(againDesc, prometheus.CounterValue, float64(c.n.Exec.PlannedAgain()))
	c.n.Raft.View(func(st *meta.State) {
		for _, b := range st.Backends() {
			gauge(aliveDesc, number(b.Alive), fmtID(b.ID), b.Host)
		}
		gauge(committedDesc, float64(len(st.CommittedTxns())))
		gauge(undecidedDesc, float64(len(st.UndecidedTxns())))
	})
}

// Metrics serves /metrics.
func (n *Node) Metrics() http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collector{n}, n.steps.HistogramVec, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
}
