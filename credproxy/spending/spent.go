package spending

// Usage counts tokens as the API reports them.
type Usage struct {
	Requests   int64 `json:"requests"` // answers of /v1/messages with status 200
	Input      int64 `json:"input"`    // not read from the cache
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
}

// Spent is what was used of one model, or of several together.
type Spent struct {
	Model string `json:"model"` // as requests name it; "" = several
	Usage
	USD float64 `json:"usd"`
}

// OtherModels is the name of all models of a run beyond those that are counted apart. They
// count in every budget.
const OtherModels = "others"

// Add returns the sum. The Model stays.
func (s Spent) Add(o Spent) Spent { return s.plus(o, 1) }

// Less returns the difference. The Model stays.
func (s Spent) Less(o Spent) Spent { return s.plus(o, -1) }

func (s Spent) plus(o Spent, sign int64) Spent {
	s.Requests += sign * o.Requests
	s.Input += sign * o.Input
	s.Output += sign * o.Output
	s.CacheRead += sign * o.CacheRead
	s.CacheWrite += sign * o.CacheWrite
	s.USD += float64(sign) * o.USD
	return s
}

// smallest is less than any price, and more than sums are wrong by, in US dollars.
const smallest = 1e-9

// Zero reports whether nothing was spent.
func (s Spent) Zero() bool { return s.Usage == (Usage{}) && s.USD < smallest && s.USD > -smallest }

// Ledger holds what all runs spend. It is safe for concurrent use, also by other
// processes.
type Ledger interface {
	// Add notes what was spent, or with negative numbers corrects it.
	Add(Spent) error

	// Sum returns what was spent in a period that is not PerRun, by the models
	// that counts takes and by OtherModels.
	Sum(per Period, counts func(model string) bool) (Spent, error)
}
