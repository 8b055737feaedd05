package instances

import "github.com/prometheus/client_golang/prometheus"

// metrics count what a store does. No label has a value of an instance.
type metrics struct {
	instances   *prometheus.CounterVec // protocol, outcome, reason
	bytes       *prometheus.CounterVec // protocol
	quarantined *prometheus.CounterVec // reason
	used, limit prometheus.GaugeFunc
}

func newMetrics(s *Store) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pelmill_intake_" + name, Help: help}, labels)
	}
	gauge := func(name, help string, value func() int64) prometheus.GaugeFunc {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "pelmill_intake_" + name, Help: help}, func() float64 { return float64(value()) })
	}
	m := &metrics{
		instances:   counter("instances_total", "Instances that senders have sent, by what became of them; refused ones by reason.", "protocol", "outcome", "reason"),
		bytes:       counter("instance_bytes_total", "Bytes of instances that were stored in the spool.", "protocol"),
		quarantined: counter("quarantined_total", "Objects that were put into quarantine, by reason.", "reason"),
		used:        gauge("spool_bytes", "Bytes of received instances in the spool and in quarantine, where they have a limit.", s.Used),
		limit:       gauge("spool_limit_bytes", "Most bytes of received instances; 0: no limit.", func() int64 { return s.opts.Budget }),
	}
	for _, reason := range []Reason{ReasonNotDICOM, ReasonTruncated, ReasonUndecodable, ReasonConflict, ReasonOther, ReasonMismatch} {
		m.quarantined.WithLabelValues(string(reason))
	}
	for _, protocol := range []string{"stow", "c-store"} {
		m.bytes.WithLabelValues(protocol)
		for _, outcome := range []Outcome{Stored, Duplicate, Conflict} {
			m.instances.WithLabelValues(protocol, string(outcome), "")
		}
		for _, reason := range []Reason{ReasonNotDICOM, ReasonTruncated, ReasonOther, reasonFull, reasonLarge, reasonSender, reasonStore} {
			m.instances.WithLabelValues(protocol, string(Refused), string(reason))
		}
	}
	return m
}

// Collectors are the metrics of the store.
func (s *Store) Collectors() []prometheus.Collector {
	m := s.metrics
	return []prometheus.Collector{m.instances, m.bytes, m.quarantined, m.used, m.limit}
}

// NoRoom counts an instance that its sender was told to keep before it came, as there is no room.
func (s *Store) NoRoom(from Sender) {
	s.metrics.instances.WithLabelValues(from.Protocol, string(Refused), string(reasonFull)).Inc()
}

// count counts an instance that has come.
func (m *metrics) count(from Sender, rec Receipt, why error) {
	reason := ""
	if rec.Outcome == Refused {
		reason = string(reasonOf(why))
	}
	m.instances.WithLabelValues(from.Protocol, string(rec.Outcome), reason).Inc()
	if rec.Outcome == Stored {
		m.bytes.WithLabelValues(from.Protocol).Add(float64(rec.Entry.Size))
	}
}
