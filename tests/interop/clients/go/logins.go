// The command logins of clients/README.md.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

const records = 10

type login struct {
	name, servers, protocol, authority, certificate, mechanism, user, secret, topic string
}

func loginOf(line string) login {
	fields := strings.Split(line, "\t")
	return login{
		fields[0], fields[1], fields[2], fields[3], fields[4], fields[5], fields[6], fields[7], fields[8],
	}
}

func (one login) options() []kgo.Opt {
	options := []kgo.Opt{kgo.SeedBrokers(one.servers)}
	if strings.HasSuffix(one.protocol, "SSL") {
		options = append(options, kgo.DialTLSConfig(one.tls()))
	}
	if one.mechanism != "" {
		options = append(options, kgo.SASL(one.sasl()))
	}
	return options
}

func (one login) tls() *tls.Config {
	authority, err := os.ReadFile(one.authority)
	must(err)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	config := &tls.Config{RootCAs: trusted}
	if one.certificate != "" {
		pair, err := tls.LoadX509KeyPair(one.certificate, one.certificate)
		must(err)
		config.Certificates = []tls.Certificate{pair}
	}
	return config
}

func (one login) sasl() sasl.Mechanism {
	switch one.mechanism {
	case "PLAIN":
		return plain.Auth{User: one.user, Pass: one.secret}.AsMechanism()
	case "OAUTHBEARER":
		return oauth.Auth{Token: one.secret}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: one.user, Pass: one.secret}.AsSha256Mechanism()
	default:
		return scram.Auth{User: one.user, Pass: one.secret}.AsSha512Mechanism()
	}
}

func (one login) administer(ctx context.Context) (int, error) {
	client, err := kgo.NewClient(one.options()...)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if _, err := admin.CreateTopic(ctx, 2, 1, nil, one.topic); err != nil {
		return 0, err
	}
	details, err := admin.ListTopics(ctx, one.topic)
	return len(details[one.topic].Partitions), err
}

func (one login) produce(ctx context.Context) error {
	client, err := kgo.NewClient(append(one.options(), kgo.TransactionalID(one.topic))...)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	for n := 0; n < records; n++ {
		record := &kgo.Record{Topic: one.topic, Value: []byte(fmt.Sprintf("value-%d", n))}
		if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
			return err
		}
	}
	return client.EndTransaction(ctx, kgo.TryCommit)
}

func (one login) consume(ctx context.Context) ([]string, error) {
	client, err := kgo.NewClient(append(one.options(), kgo.ConsumeTopics(one.topic), kgo.ConsumerGroup(one.topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.DisableAutoCommit())...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var values []string
	for len(values) < records {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return nil, err
		}
		for _, record := range fetches.Records() {
			values = append(values, string(record.Value))
		}
	}
	sort.Strings(values)
	return values, client.CommitUncommittedOffsets(ctx)
}

func (one login) use(ctx context.Context) (fact, error) {
	partitions, err := one.administer(ctx)
	if err != nil {
		return nil, err
	}
	if err := one.produce(ctx); err != nil {
		return nil, err
	}
	values, err := one.consume(ctx)
	return fact{"login": one.name, "partitions": partitions, "values": values}, err
}

func useLogins() {
	rows := bufio.NewScanner(os.Stdin)
	for rows.Scan() {
		one := loginOf(rows.Text())
		facts, err := one.use(context.Background())
		if err != nil {
			facts = fact{"login": one.name, "error": err.Error()}
		}
		print(facts)
	}
	must(rows.Err())
}
