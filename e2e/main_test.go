package e2e

import (
	"testing"

	"github.com/sallyport-sh/sallyport/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }
