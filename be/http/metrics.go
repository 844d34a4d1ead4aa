package behttp

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the server's own: Doris' names where dashboards read them, ours
// beside.
type metrics struct {
	requests prometheus.Counter
	current  prometheus.Gauge
	duration prometheus.Histogram
	bytes    prometheus.Counter
	rows     prometheus.Counter
	results  *prometheus.CounterVec
	switched *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer, s *Server) (*metrics, error) {
	load := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "doris_be_stream_load", Help: "Bytes received and rows loaded by Stream Load.",
	}, []string{"type"})
	m := &metrics{
		requests: prometheus.NewCounter(prometheus.CounterOpts{Name: "doris_be_streaming_load_requests_total", Help: "Stream Load requests."}),
		current:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "doris_be_streaming_load_current_processing", Help: "Stream Loads that are being answered."}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "doris_be_streaming_load_duration_ms", Help: "Time of Stream Loads in milliseconds.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 10),
		}),
		bytes: load.WithLabelValues("receive_bytes"),
		rows:  load.WithLabelValues("load_rows"),
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dorisgo_stream_load_results_total", Help: "Stream Loads by the Status of their reply.",
		}, []string{"status"}),
		switched: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dorisgo_group_commit_async_to_sync_total", Help: "Loads that asked for async_mode and ran as sync, by reason: chunked body, size, memory, WAL space.",
		}, []string{"reason"}),
	}
	if reg == nil {
		return m, nil
	}
	held := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "dorisgo_stream_load_memory_bytes", Help: "Memory that bodies hold while they wait to become complete.",
	}, func() float64 { return float64(s.budget.held()) })
	for _, c := range []prometheus.Collector{m.requests, m.current, m.duration, load, m.results, m.switched, held} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("cannot register a metric of Stream Load: %w", err)
		}
	}
	return m, nil
}
