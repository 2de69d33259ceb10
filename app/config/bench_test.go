package config

import "testing"

func BenchmarkDefault(b *testing.B) {
	for b.Loop() {
		Default()
	}
}

func BenchmarkParse(b *testing.B) {
	text := []byte("[exec]\ntimeout_sec = 60\n[agents.a.exec]\ngrace_ms = 5\n[tools]\ndeny = [\"process\"]\n")
	for b.Loop() {
		if _, err := Parse("f", text); err != nil {
			b.Fatal(err)
		}
	}
}

// Each call of a tool asks for this.
func BenchmarkFor(b *testing.B) {
	s := Default()
	for b.Loop() {
		_ = s.For("agent")
	}
}

func BenchmarkFind(b *testing.B) {
	for b.Loop() {
		if _, err := Find(""); err != nil {
			b.Fatal(err)
		}
	}
}
