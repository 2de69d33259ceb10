package archtest

// The modules that more than one room uses.
const (
	xsys       = "golang.org/x/sys"
	mcpSDK     = "github.com/modelcontextprotocol/go-sdk"
	jsonschema = "github.com/google/jsonschema-go"
)

// Sallyport is this house. Rooms are rows only once they exist.
var Sallyport = House{
	Module: "github.com/sallyport-sh/sallyport",
	Rooms: []Room{
		{Dir: "internal/mint", Floor: Foundation},
		{Dir: ".", Floor: Words},

		{Dir: "gate/policy", Floor: Tools},
		{Dir: "host/proc", Floor: Tools, Modules: []string{xsys}},
		{Dir: "host/output", Floor: Tools, Modules: []string{xsys}},
		{Dir: "surface/internal/jsonobj", Floor: Tools},
		{Dir: "surface/text", Floor: Tools, Modules: []string{"golang.org/x/text"}},

		{Dir: "gate", Floor: Parts},
		{Dir: "host/engine", Floor: Parts, Modules: []string{xsys}},
		{Dir: "host/keeper", Floor: Parts, Modules: []string{xsys}},
		{Dir: "journal", Floor: Parts, Modules: []string{xsys}},
		{Dir: "gateway", Floor: Parts},
		{Dir: "surface/view", Floor: Parts},

		{Dir: "surface/tools", Floor: Families, Modules: []string{jsonschema}},
		{Dir: "surface/mcp", Floor: Servers, Modules: []string{mcpSDK, jsonschema}},
		{Dir: "app/config", Floor: Settings, Modules: []string{"github.com/BurntSushi/toml", "github.com/fsnotify/fsnotify"}},
		{Dir: "app", Floor: Wiring, Modules: []string{xsys}},
		{Dir: "cli", Floor: CommandLine, Modules: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term", xsys}},
		{Dir: "cmd/sallyport", Floor: Binary},

		{Dir: "internal/archtest", Floor: Support},
		{Dir: "internal/testenv", Floor: Support},
		{Dir: "app/config/gen", Floor: Support},
		{Dir: "host/hosttest", Floor: Support},
		{Dir: "host/proc/proctest", Floor: Support},
		{Dir: "surface/surfacetest", Floor: Support},
		{Dir: "surface/tools/gen", Floor: Support},
		{Dir: "e2e", Floor: Support},
		{Dir: "e2e/harness", Floor: Support},
		{Dir: "examples/demo", Floor: Support},
		{Dir: "scripts/demosvg", Floor: Support},
		{Dir: "bench", Floor: Support},
	},
	TestModules: []string{
		"github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "go.uber.org/goleak", "pgregory.net/rapid",
		"github.com/tiktoken-go/tokenizer", mcpSDK, jsonschema, xsys,
	},
	Wings:   []string{"gate", "host", "journal", "gateway", "surface", "client"},
	Mint:    "internal/mint",
	Minters: []string{".", "gate"},
	Environment: map[string]string{
		"app":           "the composition root decides what of it counts",
		"cmd/sallyport": "hands the reading of it to the command line, for a terminal's wishes",
		"host/keeper":   "passes it on to the gateway, its child, unread",
	},
	GOOS: map[string]string{
		"host/engine/engine.go": "HostInfo says which system commands run on",
	},
}
