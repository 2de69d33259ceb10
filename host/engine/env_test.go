package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-sh/sallyport"
)

func TestBaseEnv(t *testing.T) {
	t.Parallel()
	pass := []string{
		"HOME=/h", "PATH=/bin", "LANG=C", "SSH_AUTH_SOCK=/s", "KUBECONFIG=/k", "XDG_RUNTIME_DIR=/run", "TOKENIZER=x",
		"MONKEY=1", "KEYBOARD=us", "NO_PROXY=x", "GOOGLE_APPLICATION_CREDENTIALS_DIR=/g",
	}
	silent := []string{
		"LD_PRELOAD=x", "DYLD_INSERT_LIBRARIES=x", "BASH_ENV=/x", "ENV=/x", "BASH_FUNC_ls%%=() { x; }",
		"GIT_EXEC_PATH=/tmp/ep", "PYTHONPATH=/x", "NODE_OPTIONS=--require=x", "VIRTUAL_ENV=/v", "CONDA_PREFIX=/c", "IFS=x",
		"SALLYPORT_SESSION=other", "SHELL=/bin/zsh", "malformed",
	}
	secret := []string{
		"OPENAI_API_KEY=1", "X_TOKEN=1", "AWS_SECRET_ACCESS_KEY=1", "GITHUB_TOKEN=1", "DB_PASSWORD=1", "token=1",
		"DATABASE_URL=1", "GH_TOKEN=1", "AWS_SESSION_TOKEN=1", "ANTHROPIC_APIKEY=1", "MY_SECRET=1",
	}
	vars, dropped := baseEnv(slices.Concat(pass, silent, secret), []string{"GH_TOKEN"})
	for _, kv := range append(pass, "GH_TOKEN=1") {
		name, value, _ := strings.Cut(kv, "=")
		if got, ok := vars[name]; !ok || got != value {
			t.Errorf("%s is not inherited", name)
		}
	}
	if len(vars) != len(pass)+1 {
		t.Errorf("inherited: %v", vars)
	}
	if len(dropped) != len(secret)-1 || !slices.Contains(dropped, "X_TOKEN") || !slices.IsSorted(dropped) {
		t.Errorf("dropped: %v", dropped)
	}
}

func TestCallEnv(t *testing.T) {
	t.Parallel()
	for want, env := range map[string]map[string]string{
		"": {"A": "1", "HTTP_PROXY": "x", "_x": "", "GH_TOKEN": "a call may set a secret"},
		"Security Violation: Custom 'PATH' variable is forbidden during host execution.":                                            {"PATH": "/x", "A": "1"},
		"Security Violation: Environment variable 'LD_PRELOAD' is forbidden during host execution.":                                 {"LD_PRELOAD": "/x"},
		"Security Violation: Environment variable 'ld_preload' is forbidden during host execution.":                                 {"ld_preload": "/x"},
		"Security Violation: environment variables are forbidden during host execution; blocked: BASH_ENV, Path; invalid: \"a b\".": {"Path": "", "BASH_ENV": "", "a b": ""},
	} {
		err := checkCallEnv(env)
		if want == "" {
			if err != nil {
				t.Errorf("%v: %v", env, err)
			}
			continue
		}
		var e *sallyport.Error
		if !errors.As(err, &e) || e.Msg != want || e.Code != sallyport.Denied {
			t.Errorf("%v: %v, want %q", env, err, want)
		}
	}
}

func TestSearchPath(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                   "/opt/x:" + minimalPath,
		"/a:/b:/a":           "/opt/x:/a:/b",
		":/a:.:bin:/b:":      "/opt/x:/a:/b",
		"/opt/x:/a":          "/opt/x:/a",
		"relative/only:also": "/opt/x",
	} {
		if got := searchPath(in, []string{"/opt/x"}); got != want {
			t.Errorf("searchPath(%q) = %q, want %q", in, got, want)
		}
	}
}
