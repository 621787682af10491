package command

import (
	"errors"
	"io"

	"github.com/lockladder/lockladder/internal/benchmark"
	"github.com/lockladder/lockladder/internal/benchmark/report"
)

// files are those that a run replaces, all or none.
type files []file

type file struct {
	*replacement
	write func(benchmark.Report, io.Writer) error
}

// files begins the replacement of what the flags name. After an error what was
// begun must be closed too.
func (s *settings) files() (files, error) {
	var all files
	for _, wanted := range []struct {
		path  string
		write func(benchmark.Report, io.Writer) error
	}{
		{s.json, benchmark.Report.Write},
		{s.stat, benchmark.Report.WriteBenchstat},
		{s.html, report.Write},
	} {
		if wanted.path == "" || wanted.path == "-" {
			continue
		}
		r, err := replace(wanted.path)
		if err != nil {
			return all, err
		}
		all = append(all, file{r, wanted.write})
	}
	return all, nil
}

// commit writes the report into all files.
func (f files) commit(report benchmark.Report) error {
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
