// The command `requests` of clients/README.md.
package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const lastKey = 200

// pinned is a request that the client sends in one version, which need not be the newest one.
type pinned struct {
	kmsg.Request
	version int16
}

func (request *pinned) MaxVersion() int16 { return request.version }

// errorCodes returns all error codes of a response. ConfigErrorCode of CreateTopics is no error of the request.
func errorCodes(value reflect.Value, codes []int16) []int16 {
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !value.IsNil() {
			return errorCodes(value.Elem(), codes)
		}
	case reflect.Slice:
		for index := 0; index < value.Len(); index++ {
			codes = errorCodes(value.Index(index), codes)
		}
	case reflect.Struct:
		for index := 0; index < value.NumField(); index++ {
			if name := value.Type().Field(index).Name; name == "ErrorCode" {
				codes = append(codes, int16(value.Field(index).Int()))
			} else if name != "UnknownTags" {
				codes = errorCodes(value.Field(index), codes)
			}
		}
	}
	return codes
}

func throttleMs(response kmsg.Response) int32 {
	if field := reflect.ValueOf(response).Elem().FieldByName("ThrottleMillis"); field.IsValid() {
		return int32(field.Int())
	}
	return 0
}

// sendRequests prints the newest version of each API, then what becomes of each request of standard input.
func sendRequests(ctx context.Context, client *kgo.Client) {
	newest := map[int16]int16{}
	for key := int16(0); key <= lastKey; key++ {
		if request := kmsg.RequestForKey(key); request != nil {
			newest[key] = request.MaxVersion()
		}
	}
	_, err := client.Request(ctx, kmsg.NewPtrMetadataRequest())
	must(err)
	broker := client.DiscoveredBrokers()[0]
	_, err = broker.Request(ctx, kmsg.NewPtrMetadataRequest()) // so that it has a connection
	must(err)
	print(fact{"newest": newest})
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Split(lines.Text(), " ")
		version := int16(number(words[1]))
		body, err := hex.DecodeString(words[2])
		must(err)
		request := kmsg.RequestForKey(int16(number(words[0])))
		request.SetVersion(version)
		must(request.ReadFrom(body))
		began := time.Now()
		response, err := broker.Request(ctx, &pinned{request, version})
		took := time.Since(began).Milliseconds()
		if err != nil {
			print(fact{"error": err.Error(), "took_ms": took})
		} else {
			codes := errorCodes(reflect.ValueOf(response), []int16{})
			print(fact{"codes": codes, "throttle_ms": throttleMs(response), "took_ms": took})
		}
	}
}
