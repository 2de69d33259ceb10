package engine

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sallyport-sh/sallyport"
)

const pathSeparators = `/\`

// inode: Windows has no cheap inode; size, time and mode identify a file here.
func inode(fs.FileInfo) (dev, ino uint64) { return 0, 0 }

// executable leaves batch files to the shell.
func executable(f sallyport.File) bool { return fs.FileMode(f.Mode).IsRegular() && !isBatch(f.Real) }

// programNames adds the extensions that name programs. Batch files are left out: their arguments are read by cmd.
func programNames(path string) []string {
	if filepath.Ext(path) != "" {
		return []string{path}
	}
	return []string{path + ".exe", path + ".com"}
}

func runsDirectly(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".exe" || ext == ".com"
}

func (e *Engine) shellPath(s Settings) (string, error) {
	vars, _ := baseEnv(e.o.Environ, nil)
	return windowsShell(s.Shell, prober{
		exists: func(path string) bool { info, err := os.Stat(path); return err == nil && !info.IsDir() },
		getenv: func(name string) string {
			for k, v := range vars {
				if strings.EqualFold(k, name) {
					return v
				}
			}
			return ""
		},
		look: func(name string) string { p, _ := exec.LookPath(name); return p },
	})
}
