// Package suite names the module whose tests run against the broker.
package suite

import _ "github.com/twmb/franz-go/pkg/kgo"
