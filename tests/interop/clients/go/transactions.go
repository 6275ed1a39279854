// The commands of clients/README.md with transactions.
package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func transact(ctx context.Context, client *kgo.Client, topic string, first int, amount int, commit kgo.TransactionEndTry) {
	must(client.BeginTransaction())
	produce(ctx, client, topic, first, amount)
	must(client.EndTransaction(ctx, commit))
}

func hold(ctx context.Context, client *kgo.Client, topic string) {
	must(client.BeginTransaction())
	record := &kgo.Record{Topic: topic, Key: []byte("held"), Value: []byte("held")}
	must(client.ProduceSync(ctx, record).FirstErr())
	print(fact{"partition": record.Partition, "offset": record.Offset})
	_, _ = io.Copy(io.Discard, os.Stdin)
	err := client.EndTransaction(ctx, kgo.TryCommit)
	print(fact{"committed": err == nil})
}

// copyRecords aborts every other transaction; then the session goes back to the committed offsets.
func copyRecords(ctx context.Context, session *kgo.GroupTransactSession, target string, amount int) {
	commit := kgo.TryAbort
	for left := amount; left > 0; {
		fetches := session.PollRecords(ctx, 7)
		must(fetches.Err())
		must(session.Begin())
		count := 0
		for _, record := range fetches.Records() {
			copied := &kgo.Record{Topic: target, Key: record.Key, Value: record.Value}
			session.Produce(ctx, copied, func(_ *kgo.Record, err error) { must(err) })
			count++
		}
		must(session.Client().Flush(ctx))
		committed, err := session.End(ctx, commit)
		must(err)
		if committed {
			print(fact{"copied": count})
			left -= count
		}
		commit = !commit
	}
}

// transactional carries out a command with transactions; it returns whether it is one.
func transactional(ctx context.Context, command string, options []kgo.Opt, rest []string) bool {
	timeout := 60_000
	switch command {
	case "transact":
		options = append(options, kgo.TransactionalID(rest[1]))
	case "hold":
		timeout = number(rest[2])
		options = append(options, kgo.TransactionalID(rest[1]), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	case "copy":
		options = append(options, kgo.TransactionalID(rest[3]), kgo.ConsumeTopics(rest[0]), kgo.ConsumerGroup(rest[2]),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
			kgo.RequireStableFetchOffsets())
	default:
		return false
	}
	options = append(options, kgo.TransactionTimeout(time.Duration(timeout)*time.Millisecond))
	if command == "copy" {
		session, err := kgo.NewGroupTransactSession(options...)
		must(err)
		copyRecords(ctx, session, rest[1], number(rest[4]))
		session.Close()
		return true
	}
	client, err := kgo.NewClient(options...)
	must(err)
	defer client.Close()
	if command == "hold" {
		hold(ctx, client, rest[0])
	} else {
		transact(ctx, client, rest[0], number(rest[2]), number(rest[3]), rest[4] == "commit")
	}
	return true
}
