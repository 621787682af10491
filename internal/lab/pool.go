package lab

import "context"

// Pool lends servers to scenarios that run at the same time.
type Pool interface {
	// Borrow waits until so many are free. The error is TooFew when there will
	// never be so many.
	Borrow(ctx context.Context, n int) ([]Server, error)
	Return(lent []Server)
}

// NamedPool is a Pool that knows by their names which keys are of its scenarios.
type NamedPool interface {
	Pool
	Run() string // keys are named lockladder:RUN:...
}

// TooFew is the error of a Pool that has not as many servers as a lock needs. It
// says how many there are.
type TooFew string

func (e TooFew) Error() string { return string(e) }
