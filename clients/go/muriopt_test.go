package muriopt

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"
)

// The address of a server that runs is in MURI_OPT_ADDRESS, a round in the file MURI_OPT_ROUND.
func setUp(t *testing.T) (*Client, map[string]any, context.Context) {
	t.Helper()
	text, err := os.ReadFile(os.Getenv("MURI_OPT_ROUND"))
	if err != nil {
		t.Fatal(err)
	}
	var round map[string]any
	if err := json.Unmarshal(text, &round); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	return &Client{Address: os.Getenv("MURI_OPT_ADDRESS")}, round, ctx
}

func TestARoundIsSolved(t *testing.T) {
	client, round, ctx := setUp(t)
	var result struct {
		Value int64  `json:"value"`
		Bound *int64 `json:"bound"`
	}
	if err := client.Ask(ctx, "solve", map[string]any{"round": round, "policy": "fifo"}, &result); err != nil {
		t.Fatal(err)
	}
	if result.Value != 5 || result.Bound == nil || *result.Bound != 5 {
		t.Fatalf("value %d", result.Value)
	}
}

func TestBadInputIsToldByItsField(t *testing.T) {
	client, round, ctx := setUp(t)
	err := client.Ask(ctx, "solve", map[string]any{"round": round, "policy": "fifi"}, nil)
	var refused *Refused
	if !errors.As(err, &refused) || refused.Status != 422 || refused.Field != "policy" {
		t.Fatalf("%v", err)
	}
}

func TestEventsNeedNoPlaceForTheirAnswer(t *testing.T) {
	client, round, ctx := setUp(t)
	session := map[string]any{"session": "go", "cluster": round["cluster"], "policy": "fifo"}
	if err := client.Ask(ctx, "session/open", session, nil); err != nil {
		t.Fatal(err)
	}
	job := map[string]any{"id": "a", "gpus": 1, "submitted": 0}
	jobs := map[string]any{"session": "go", "jobs": []any{job}}
	if err := client.Ask(ctx, "session/submit", jobs, nil); err != nil {
		t.Fatal(err)
	}
}
