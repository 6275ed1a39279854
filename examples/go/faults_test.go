// A Go test that sets faults on a broker over HTTP. Start the broker first:
//
//	pybroker --test-kit
//	KAFKA=localhost:9092 KAFKA_HTTP=http://localhost:8092 go test
package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type fault struct {
	ID    int `json:"id"`
	Fired int `json:"fired"`
}

// call sends a request to the test kit of the broker, and decodes its answer into found.
func call(t *testing.T, method string, path string, body any, found any) {
	t.Helper()
	var text bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&text).Encode(body); err != nil {
			t.Fatal(err)
		}
	}
	request, err := http.NewRequest(method, os.Getenv("KAFKA_HTTP")+path, &text)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %s", method, path, answer.Status)
	}
	if err := json.NewDecoder(answer.Body).Decode(found); err != nil {
		t.Fatal(err)
	}
}

func TestRecordIsWrittenOnceWhenTheAnswerIsLost(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	topic := fmt.Sprintf("orders-%d", time.Now().UnixNano()) // the broker keeps the topics of earlier runs
	client, err := kgo.NewClient(
		kgo.SeedBrokers(os.Getenv("KAFKA")),
		kgo.AllowAutoTopicCreation(),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	var set fault
	call(t, "POST", "/v1/test/faults", map[string]any{"api": "Produce", "topic": topic, "drop_response": true, "times": 1}, &set)
	for _, value := range []string{"one", "two"} {
		record := &kgo.Record{Topic: topic, Value: []byte(value)}
		if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	call(t, "GET", fmt.Sprintf("/v1/test/faults/%d", set.ID), nil, &set)
	if set.Fired != 1 {
		t.Errorf("the fault has fired %d times", set.Fired)
	}

	var read []string
	for len(read) < 2 && ctx.Err() == nil {
		client.PollFetches(ctx).EachRecord(func(record *kgo.Record) { read = append(read, string(record.Value)) })
	}
	if len(read) != 2 || read[0] != "one" || read[1] != "two" {
		t.Errorf("read %v", read)
	}
}
