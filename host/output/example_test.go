package output_test

import (
	"fmt"
	"os"

	"github.com/sallyport-sh/sallyport"
	"github.com/sallyport-sh/sallyport/host/output"
)

// A log is fed by a pump, or piece by piece, and read by offset or by line.
func ExampleLog() {
	dir, err := os.MkdirTemp("", "output")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := output.OpenStore(dir, 0)
	if err != nil {
		panic(err)
	}
	defer store.Close()

	log, err := store.Create("amber-atlas", 0)
	if err != nil {
		panic(err)
	}
	_ = log.Append(sallyport.Stdout, []byte("compiling\nlinking\n"))
	_ = log.Append(sallyport.Stderr, []byte("warning: unused x\n"))
	log.Seal()

	page, err := log.Lines(sallyport.LineQuery{Grep: "warn", Context: 1})
	if err != nil {
		panic(err)
	}
	for _, line := range page.Lines {
		fmt.Printf("%d at %d: %s\n", line.No, line.Off, line.Text)
	}
	chunk, err := log.Read(sallyport.Range{From: 10, Max: 7})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s, next %d\n", chunk.Data, chunk.Next)
	// Output:
	// 1 at 10: linking
	// 2 at 18: warning: unused x
	// linking, next 17
}
