package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport-sh/sallyport/app/config"
)

func newCompletionCommand(env *Env) *cobra.Command {
	shells := []string{"bash", "fish", "powershell", "zsh"}
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print a script that completes command lines", ValidArgs: shells,
		Long: "Prints a script for SHELL, one of " + strings.Join(shells, ", ") + ", that completes command lines of this program.",
		Example: "  source <(sallyport completion bash)\n" +
			"  sallyport completion zsh > \"${fpath[1]}/_sallyport\"\n" +
			"  sallyport completion fish > ~/.config/fish/completions/sallyport.fish",
		Args: arguments("SHELL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(env.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(env.Stdout)
			case "fish":
				return root.GenFishCompletion(env.Stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(env.Stdout)
			}
			hint := "one of " + strings.Join(shells, ", ")
			if near := config.Nearest(args[0], shells); near != "" {
				hint = "did you mean " + near + "?"
			}
			return &usageError{msg: fmt.Sprintf("unknown shell %q", args[0]), hint: hint}
		},
	}
}
