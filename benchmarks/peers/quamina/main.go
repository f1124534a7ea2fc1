// quamina over files: `quamina-peer PATTERNS EVENTS [OUT]`, see ../__init__.py for the formats.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"syscall"

	"quamina.net/go/quamina/v2"
)

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return float64(usage.Utime.Sec+usage.Stime.Sec) + float64(usage.Utime.Usec+usage.Stime.Usec)*1e-6
}

func lines(path string) [][]byte {
	content, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	return bytes.Split(bytes.TrimRight(content, "\n"), []byte("\n"))
}

func main() {
	patterns, events := lines(os.Args[1]), lines(os.Args[2])
	refused := [][2]string{}
	taken := 0

	start := cpuSeconds()
	matcher, err := quamina.New()
	if err != nil {
		panic(err)
	}
	for _, line := range patterns {
		var given struct{ ID, Pattern string }
		if err := json.Unmarshal(line, &given); err != nil {
			panic(err)
		}
		if err := matcher.AddPattern(given.ID, given.Pattern); err != nil {
			refused = append(refused, [2]string{given.ID, err.Error()})
			continue
		}
		taken++
	}
	load := cpuSeconds() - start

	keep := len(os.Args) > 3
	found := make([][]quamina.X, 0, len(events))
	matches := 0
	start = cpuSeconds()
	for _, event := range events {
		names, err := matcher.MatchesForEvent(event)
		if err != nil {
			panic(err)
		}
		matches += len(names)
		if keep {
			found = append(found, append([]quamina.X(nil), names...))
		}
	}
	cpu := cpuSeconds() - start

	if keep {
		file, err := os.Create(os.Args[3])
		if err != nil {
			panic(err)
		}
		out := bufio.NewWriter(file)
		for at, names := range found {
			for _, name := range names {
				line, _ := json.Marshal([]any{at, name})
				fmt.Fprintln(out, string(line))
			}
		}
		out.Flush()
		file.Close()
	}
	report, _ := json.Marshal(map[string]any{
		"peer": "quamina", "patterns": taken, "refused": refused, "events": len(events), "matches": matches,
		"load_cpu_s": load, "cpu_s": cpu,
	})
	fmt.Println(string(report))
}
