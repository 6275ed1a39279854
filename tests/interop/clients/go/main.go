// The commands of clients/README.md, by franz-go.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

type fact map[string]any

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	must(err)
	return value
}

func print(one fact) {
	must(json.NewEncoder(os.Stdout).Encode(one))
}

func create(ctx context.Context, client *kgo.Client, topic string, partitions int) {
	admin := kadm.NewClient(client)
	_, err := admin.CreateTopic(ctx, int32(partitions), 1, nil, topic)
	must(err)
	details, err := admin.ListTopics(ctx, topic)
	must(err)
	print(fact{"partitions": len(details[topic].Partitions)})
}

func remove(ctx context.Context, client *kgo.Client, topic string) {
	admin := kadm.NewClient(client)
	_, err := admin.DeleteTopic(ctx, topic)
	must(err)
	details, err := admin.ListTopics(ctx)
	must(err)
	print(fact{"left": details.Has(topic)})
}

func committed(ctx context.Context, client *kgo.Client, group string) {
	admin := kadm.NewClient(client)
	groups, err := admin.DescribeGroups(ctx, group)
	must(err)
	print(fact{"state": groups[group].State})
	offsets, err := admin.FetchOffsets(ctx, group)
	must(err)
	offsets.Each(func(offset kadm.OffsetResponse) {
		must(offset.Err)
		print(fact{"partition": offset.Partition, "offset": offset.At})
	})
}

// produce relies on franz-go's defaults: idempotent, and acks from all in-sync replicas.
func produce(ctx context.Context, client *kgo.Client, topic string, first int, amount int) {
	var records []*kgo.Record
	for n := first; n < first+amount; n++ {
		header := kgo.RecordHeader{Key: "n", Value: []byte(strconv.Itoa(n))}
		key, value := fmt.Sprintf("key-%d", n), fmt.Sprintf("value-%d", n)
		records = append(records, &kgo.Record{
			Topic: topic, Key: []byte(key), Value: []byte(value), Headers: []kgo.RecordHeader{header},
		})
	}
	must(client.ProduceSync(ctx, records...).FirstErr())
	for _, record := range records {
		print(fact{"partition": record.Partition, "offset": record.Offset})
	}
}

func consume(ctx context.Context, client *kgo.Client, amount int) {
	for left := amount; left > 0; {
		fetches := client.PollRecords(ctx, left)
		must(fetches.Err())
		for _, record := range fetches.Records() {
			print(fact{
				"partition": record.Partition, "offset": record.Offset,
				"key": string(record.Key), "value": string(record.Value), "n": string(record.Headers[0].Value),
			})
			left--
		}
	}
	must(client.CommitUncommittedOffsets(ctx))
}

// owned prints what the member owns; the client never calls its callbacks at the same time.
type owned map[int32]bool

func (all owned) change(partitions []int32, mine bool) {
	for _, partition := range partitions {
		if mine {
			all[partition] = true
		} else {
			delete(all, partition)
		}
	}
	list := []int32{}
	for partition := range all {
		list = append(list, partition)
	}
	print(fact{"owned": list})
}

func (all owned) options(topic string) []kgo.Opt {
	taken := func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
		all.change(partitions[topic], false)
	}
	return []kgo.Opt{
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			all.change(partitions[topic], true)
		}),
		kgo.OnPartitionsRevoked(taken),
		kgo.OnPartitionsLost(taken),
		kgo.BlockRebalanceOnPoll(),
		kgo.HeartbeatInterval(200 * time.Millisecond),
	}
}

func member(ctx context.Context, client *kgo.Client) {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		for _, record := range fetches.Records() {
			print(fact{"partition": record.Partition, "offset": record.Offset})
		}
		if ctx.Err() == nil {
			must(fetches.Err())
		}
		must(client.CommitUncommittedOffsets(context.Background()))
		client.AllowRebalance()
	}
	client.CloseAllowingRebalance()
}

func main() {
	if os.Args[1] == "logins" {
		useLogins()
		return
	}
	command, rest := os.Args[1], os.Args[3:]
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(os.Args[2], ",")...),
		kgo.AllowAutoTopicCreation(),
		kgo.ProducerBatchCompression(kgo.GzipCompression()),
	}
	if command == "consume" || command == "member" {
		options = append(options, kgo.ConsumeTopics(rest[0]), kgo.ConsumerGroup(rest[1]), kgo.DisableAutoCommit(),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	}
	if command == "member" {
		options = append(options, owned{}.options(rest[0])...)
	}
	ctx := context.Background()
	if transactional(ctx, command, options, rest) {
		return
	}
	client, err := kgo.NewClient(options...)
	must(err)
	defer client.Close()
	switch command {
	case "create":
		create(ctx, client, rest[0], number(rest[1]))
	case "produce":
		produce(ctx, client, rest[0], number(rest[1]), number(rest[2]))
	case "consume":
		consume(ctx, client, number(rest[2]))
	case "member":
		member(ctx, client)
	case "committed":
		committed(ctx, client, rest[0])
	case "delete":
		remove(ctx, client, rest[0])
	case "requests":
		sendRequests(ctx, client)
	default:
		must(fmt.Errorf("unknown command %s", command))
	}
}
