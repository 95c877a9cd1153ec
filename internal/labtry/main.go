package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"rushgate/bench/load"
	"rushgate/lab"
	"rushgate/lab/report"
	"rushgate/lab/stage"
	"rushgate/lab/trial"
)

func main() {
	ctx := context.Background()
	if a := os.Getenv(trial.AssignmentEnv); a != "" {
		if err := trial.Sell(ctx, a, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ways, err := lab.Choose(os.Args[1:])
	if err != nil {
		panic(err)
	}
	var needs []lab.Need
	for _, w := range ways {
		needs = append(needs, w.Needs...)
	}
	plan := trial.Defaults()
	s, err := stage.Open(ctx, stage.Options{Connections: plan.Connections, Needs: needs})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	fmt.Println(s.Leavings())
	report.WriteHead(os.Stdout)
	r := &report.Report{Made: time.Now(), Version: "0.4.0-dev", Hardware: load.Hardware(), Plan: plan, Notes: s.Leavings()}
	begin := time.Now()
	for _, w := range ways {
		exe, _ := os.Executable()
		o := trial.Run(ctx, trial.Setup{Plan: plan, Place: s.Place, Count: s.Count, Command: func() *exec.Cmd { return exec.Command(exe) }}, w)
		report.WriteRow(os.Stdout, &o)
		fmt.Println("   ", o.Verdict)
		r.Ways = append(r.Ways, o)
	}
	r.Seconds = time.Since(begin).Seconds()
	f, _ := os.Create("/tmp/lab-sample.json")
	r.WriteJSON(f)
	f.Close()
}
