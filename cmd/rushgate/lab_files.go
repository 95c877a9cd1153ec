package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"rushgate/lab/report"
)

// reports are the files that --out asked for. They are opened before the lab
// begins: who mistyped a folder hears of it at once, not after five minutes.
type reports []reportFile

type reportFile struct {
	*os.File
	made bool // by us: it was not there before
	json bool
}

func openReports(names []string) (reports, error) {
	var all reports
	for _, name := range names {
		f, err := openReport(name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("--out: %w", err), all.discard())
		}
		all = append(all, f)
	}
	return all, nil
}

func openReport(name string) (f reportFile, err error) {
	if name == "" {
		return f, errors.New("a file has a name: data if it ends in .json, otherwise a page")
	}
	f.json = strings.EqualFold(filepath.Ext(name), ".json")
	f.File, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if f.made = err == nil; errors.Is(err, os.ErrExist) {
		f.File, err = os.OpenFile(name, os.O_WRONLY, 0)
	}
	return f, err
}

// write writes the report into all of them. A report in which no way was tried
// replaces nothing: the file may hold a better one.
func (all reports) write(r *report.Report) (written []string, err error) {
	if len(r.Ways) == 0 {
		return nil, all.discard()
	}
	for _, f := range all {
		if failure := f.replace(r); failure != nil {
			err = errors.Join(err, fmt.Errorf("--out %s: %w", f.Name(), failure))
			continue
		}
		written = append(written, f.Name())
	}
	return written, err
}

// replace writes the report instead of what was there, as soon as it is whole.
func (f reportFile) replace(r *report.Report) error {
	var b bytes.Buffer
	form := r.WritePage
	if f.json {
		form = r.WriteJSON
	}
	if err := form(&b); err != nil {
		return errors.Join(err, f.Close())
	}
	err := f.Truncate(0)
	if err == nil {
		_, err = f.Write(b.Bytes())
	}
	return errors.Join(err, f.Close())
}

// discard closes the files, and removes those that were not there before.
func (all reports) discard() (err error) {
	for _, f := range all {
		err = errors.Join(err, f.Close())
		if f.made {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}
	return err
}
