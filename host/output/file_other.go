//go:build !linux

package output

import "errors"

func (osFile) punch(int64, int64) error { return errors.ErrUnsupported }

func (osFile) splice(int, int64, int) (int, error) { return 0, errors.ErrUnsupported }
