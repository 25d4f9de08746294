package runplan

// New is the plan of options that nobody is asked about.
func New(o Options, f Facts) (*Plan, error) {
	accepted, err := o.Effective()
	if err != nil {
		return nil, err
	}
	return o.Plan(accepted, f)
}
