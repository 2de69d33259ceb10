package output

import (
	"os"

	"github.com/sallyport-sh/sallyport"
)

func (l *Log) pump(r *os.File, stream sallyport.Stream) error { return l.pumpReader(r, stream) }
