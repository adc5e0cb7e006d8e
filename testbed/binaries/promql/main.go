// SPDX-License-Identifier: Apache-2.0

// Command promql evaluates expressions with the engine of Prometheus.
//
// It reads a JSON object from its input: "load", series in the notation of `promtool test rules`,
// and "queries", objects with "expr" and "at", the seconds since the start of the series. It prints
// a JSON list with the labels of the samples that each expression returns.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
)

type query struct {
	Expr string
	At   int64
}

type failures struct{}

func (failures) Errorf(format string, args ...interface{}) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

func (failures) FailNow() { os.Exit(1) }

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	var asked struct {
		Load    string
		Queries []query
	}
	fail(json.NewDecoder(os.Stdin).Decode(&asked))
	stored := promqltest.LoadedStorage(failures{}, asked.Load)
	defer stored.Close()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1 << 20, Timeout: time.Minute})
	answers := make([][]map[string]string, 0, len(asked.Queries))
	for _, one := range asked.Queries {
		answers = append(answers, evaluate(engine, stored, one))
	}
	fail(json.NewEncoder(os.Stdout).Encode(answers))
}

func evaluate(engine *promql.Engine, queryable storage.Queryable, one query) []map[string]string {
	made, err := engine.NewInstantQuery(context.Background(), queryable, nil, one.Expr, time.Unix(one.At, 0))
	fail(err)
	defer made.Close()
	found, err := made.Exec(context.Background()).Vector()
	fail(err)
	samples := make([]map[string]string, 0, len(found))
	for _, sample := range found {
		samples = append(samples, sample.Metric.Map())
	}
	return samples
}
