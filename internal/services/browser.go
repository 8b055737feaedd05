package services

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Browser makes a command that runs a script in Node.js which drives Chromium, and ends a test that cannot have one. The
// script finds playwright-core and axe-core in MODULES and the browser's program in CHROMIUM. The command is killed
// when the test process is; Chromium ends with it.
func Browser(t testing.TB, script string, args ...string) *exec.Cmd {
	t.Helper()
	modules := filepath.Join(Root(t), ".tools", "node_modules")
	for _, name := range []string{"playwright-core", "axe-core"} {
		if _, err := os.Stat(filepath.Join(modules, name)); err != nil {
			Missing(t, "%s is not in .tools/; run make services", name)
		}
	}
	cmd := exec.Command(program(t, "node"), append([]string{script}, args...)...)
	cmd.Env = append(os.Environ(), "MODULES="+modules, "CHROMIUM="+program(t, "chromium"))
	cmd.SysProcAttr = dieWithParent()
	return cmd
}
