package jobs

// Expect is what a plan expects of a job, beside the saving of its [Estimate].
type Expect struct {
	Lists    int64 `json:"lists"`     // requests that list
	Gets     int64 `json:"gets"`      // that read
	Puts     int64 `json:"puts"`      // that write
	BytesIn  int64 `json:"bytes_in"`  // read from the source
	BytesOut int64 `json:"bytes_out"` // written to the target; without a sample as many as are read

	Workers     int     `json:"workers"`                // that were connected
	Cores       int     `json:"cores"`                  // of all their machines
	Seconds     float64 `json:"seconds,omitempty"`      // with these; 0: none is connected, or no sample was taken
	OneSeconds  float64 `json:"one_seconds,omitempty"`  // with one worker with as many cores as the scheduler has
	CoreSeconds float64 `json:"core_seconds,omitempty"` // of work
	WaitSeconds float64 `json:"wait_seconds,omitempty"` // for storage, one object after the other
	SameCores   bool    `json:"same_cores,omitempty"`   // as in [Estimate]
}

// Requests of a job for each object and each chunk, in the order of a chunk's life.
const (
	listed        = 1000 // objects a request that lists
	getsAnObject  = 1
	looksAnObject = 1 // at what is stored
	putsAnObject  = 1
	getsAChunk    = 3 // entries, shard and partial records of an earlier delivery
	putsAChunk    = 1
)

// Expected gives requests and bytes of a plan. Requests are counted as stores bill them: what
// looks at an object reads it.
func (p *Plan) Expected() (e Expect) {
	w := p.Work()
	chunks := int64(len(p.Chunks))
	e.Lists = 2 * (1 + p.Objects/listed) // of the source, and of the target for what is done
	e.Gets = w.Objects*(getsAnObject+looksAnObject) + chunks*getsAChunk
	e.Puts = w.Objects*putsAnObject + chunks*putsAChunk
	e.BytesIn, e.BytesOut = w.Bytes, w.Bytes
	if p.Estimate != nil {
		e.BytesOut = int64(float64(w.Bytes) * (1 - p.Estimate.Saving))
	}
	return e
}

// transfers is how many objects a worker moves at once.
const transfers = 16

// Time fills in how long it takes with so many workers on so many cores, and with one worker
// on a machine with own cores. Storage on the same machine takes of its cores: its time adds up. Elsewhere
// workers wait for many objects at once, while others are encoded.
func (e *Expect) Time(est *Estimate, workers, cores, own int) {
	e.Workers, e.Cores = workers, cores
	if est == nil {
		return
	}
	e.CoreSeconds, e.WaitSeconds, e.SameCores = est.CoreSeconds, est.WaitSeconds, est.SameCores
	seconds := func(workers, cores int) float64 {
		if workers == 0 || cores == 0 {
			return 0
		}
		if est.SameCores {
			return (est.CoreSeconds + est.WaitSeconds) / float64(cores)
		}
		return max(est.CoreSeconds/float64(cores), est.WaitSeconds/float64(workers*transfers))
	}
	e.Seconds, e.OneSeconds = seconds(workers, cores), seconds(1, own)
}

// Prices are what a store costs, in any currency. A GB has 2^30 bytes.
type Prices struct {
	Currency string  `json:"currency" yaml:"currency"`
	Get      float64 `json:"get" yaml:"get"`           // a request that reads
	Put      float64 `json:"put" yaml:"put"`           // that writes
	List     float64 `json:"list" yaml:"list"`         // that lists; 0: as one that writes
	GBMonth  float64 `json:"gb_month" yaml:"gb-month"` // of storage
	Egress   float64 `json:"egress" yaml:"egress"`     // a GB that leaves the source
}

// Cost is what a job costs and saves, in the currency of its prices.
type Cost struct {
	Currency string  `json:"currency,omitempty"`
	Requests float64 `json:"requests"`
	Egress   float64 `json:"egress"`
	Total    float64 `json:"total"`
	Month    float64 `json:"saving_a_month"`   // once the sources are deleted
	Months   float64 `json:"months,omitempty"` // until that has paid for the job; 0: never
}

// Cost gives what e costs.
func (e *Expect) Cost(p Prices) Cost {
	const gb = 1 << 30
	list := p.List
	if list == 0 {
		list = p.Put
	}
	c := Cost{Currency: p.Currency, Requests: float64(e.Gets)*p.Get + float64(e.Puts)*p.Put + float64(e.Lists)*list,
		Egress: float64(e.BytesIn) / gb * p.Egress, Month: float64(e.BytesIn-e.BytesOut) / gb * p.GBMonth}
	c.Total = c.Requests + c.Egress
	if c.Month > 0 {
		c.Months = c.Total / c.Month
	}
	return c
}
