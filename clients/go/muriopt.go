// Package muriopt is a client of "muri-opt serve --http" in one file. It needs the standard library only.
//
//	client := &muriopt.Client{Address: "http://127.0.0.1:8080", Token: token}
//	var result struct {
//		Value int64  `json:"value"`
//		Bound *int64 `json:"bound"`
//	}
//	err := client.Ask(ctx, "solve", map[string]any{"round": round, "policy": "srtf"}, &result)
//
// What the server refuses is a *Refused. The deadline of the context is sent along; a server that has no free slot
// (429) or is being started (503) is asked again, after the time that it names, until then: it has done nothing with
// such a message. One that died of it (502) is asked again only what may be asked twice: an event, such as
// "session/submit", may be in the journal already. After a 502, or an error of the connection, "session/state" says
// whether it is.
package muriopt

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Refused is a problem that the server has named: for bad input the field, what was found and what is allowed.
type Refused struct {
	Title   string `json:"title"`
	Status  int    `json:"status"`
	Detail  string `json:"detail"`
	Field   string `json:"field"`
	Found   string `json:"found"`
	Allowed string `json:"allowed"`
}

func (refused *Refused) Error() string {
	return fmt.Sprintf("muri-opt: %d: %s", refused.Status, refused.Detail)
}

// Client asks one server. Goroutines may share it.
type Client struct {
	Address string
	Token   string
	HTTP    *http.Client
}

// Ask sends a message and decodes its answer; nil passes over it, as those of events say nothing.
func (client *Client) Ask(ctx context.Context, do string, fields map[string]any, answer any) error {
	body, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	for {
		reply, err := client.once(ctx, do, body)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if err != nil {
			return err
		}
		if reply.StatusCode == http.StatusOK && answer == nil {
			return nil
		}
		if reply.StatusCode == http.StatusOK {
			return json.Unmarshal(text, answer)
		}
		refused := &Refused{Status: reply.StatusCode, Detail: string(text)}
		_ = json.Unmarshal(text, refused)
		if !again(ctx, do, reply) {
			return refused
		}
	}
}

func (client *Client) once(ctx context.Context, do string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, client.Address+"/v1/"+do, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if client.Token != "" {
		request.Header.Set("Authorization", "Bearer "+client.Token)
	}
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline).Seconds()
		request.Header.Set("X-Deadline-Seconds", strconv.FormatFloat(left, 'f', 3, 64))
	}
	if client.HTTP != nil {
		return client.HTTP.Do(request)
	}
	return http.DefaultClient.Do(request)
}

// twice has the messages that may be repeated, as they change nothing or say the same again.
var twice = map[string]bool{
	"solve": true, "verify": true, "why": true, "what-if": true,
	"session/open": true, "session/decide": true, "session/state": true,
}

// again waits for as long as a busy server has asked for; false where there is no such wish or no time, or where the
// message may have been carried out and must not be repeated.
func again(ctx context.Context, do string, reply *http.Response) bool {
	switch reply.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
	case http.StatusBadGateway:
		if !twice[do] {
			return false
		}
	default:
		return false
	}
	seconds, err := strconv.Atoi(reply.Header.Get("Retry-After"))
	deadline, limited := ctx.Deadline()
	wait := time.Duration(seconds) * time.Second
	if err != nil || !limited || time.Until(deadline) < wait {
		return false
	}
	select {
	case <-time.After(wait):
		return true
	case <-ctx.Done():
		return false
	}
}
