package muriopt

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
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

func TestOnlyWhatMayBeAskedTwiceIsAskedAgainAfterTheServerDied(t *testing.T) {
	for do, wanted := range map[string]int{"session/submit": 1, "session/acknowledge": 1, "session/state": 2, "solve": 2} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
			asked++
			writer.Header().Set("Retry-After", "0")
			if asked == 1 {
				writer.WriteHeader(http.StatusBadGateway)
			}
			_, _ = writer.Write([]byte("{}"))
		}))
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		err := (&Client{Address: server.URL}).Ask(ctx, do, map[string]any{}, nil)
		cancel()
		server.Close()
		if asked != wanted || (err == nil) != (wanted == 2) {
			t.Fatalf("%s was asked %d times: %v", do, asked, err)
		}
	}
}
