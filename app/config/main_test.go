package config

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// parse is a configuration that a test knows to be right.
func parse(t *testing.T, text string) *Snapshot {
	t.Helper()
	s, err := Parse("config.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
