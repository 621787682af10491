package command

import (
	"errors"
	"io"

	"github.com/lockladder/lockladder/internal/benchmark"
)

// files are those that a run replaces, all or none.
type files []file

type file struct {
	*replacement
	write func(benchmark.ReportOf[any], io.Writer) error
}

// files begins the replacement of what the flags name. After an error what was
// begun must be closed too.
func (o *options) files() (files, error) {
	var all files
	for _, wanted := range o.formats {
		if wanted.file == "" || wanted.file == "-" {
			continue
		}
		r, err := replace(wanted.file)
		if err != nil {
			return all, err
		}
		all = append(all, file{r, wanted.Write})
	}
	return all, nil
}

// commit writes the report into all files.
func (f files) commit(report benchmark.ReportOf[any]) error {
	var errs []error
	for _, one := range f {
		errs = append(errs, one.commit(func(w io.Writer) error {
			return one.write(report, w)
		}))
	}
	return errors.Join(errs...)
}

// close removes what was not committed.
func (f files) close() error {
	var errs []error
	for _, one := range f {
		errs = append(errs, one.close())
	}
	return errors.Join(errs...)
}
