// Package export sends the spans of sampled buys to a collector, by OpenTelemetry's protocol over HTTP. Package trace
// defines the spans.
//
// The export never blocks: spans wait in a bounded queue and are sent together once a second. Spans that do not fit or
// that the collector does not accept are lost. The log has one line when losses begin and one when they end.
package export

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otel "go.opentelemetry.io/otel/trace"

	"stampede/app/trace"
)

const (
	sendInterval = time.Second     // interval between batches
	sendTimeout  = 5 * time.Second // one request to the collector
	maxWaiting   = 8192            // spans; about 4 MB
	maxBatch     = 512             // spans per request

	// closeTimeout limits how long a shutdown waits for the last spans.
	closeTimeout = 2 * time.Second
)

// Exporter sends the spans of a trace.Tracer to a collector. The caller must close it.
type Exporter struct {
	provider *sdk.TracerProvider
	tracer   otel.Tracer
	sender   *sender
	client   *http.Client
}

// Node identifies the source of spans.
type Node struct{ Name, Version string }

// New returns an exporter to the collector at an http or https address. It makes no connection.
func New(endpoint string, source Node) (*Exporter, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("parse the collector's address: %w", err)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	e := &Exporter{client: &http.Client{
		Transport: http.DefaultTransport.(*http.Transport).Clone(), Timeout: sendTimeout,
	}}
	// The library would read options that are not set here from its environment variables.
	exporter, err := otlptracehttp.New(context.Background(),
		otlptracehttp.WithEndpointURL(u.String()), otlptracehttp.WithHTTPClient(e.client),
		otlptracehttp.WithTimeout(sendTimeout), otlptracehttp.WithCompression(otlptracehttp.NoCompression),
		otlptracehttp.WithHeaders(map[string]string{}), otlptracehttp.WithEncoding(otlptracehttp.EncodingProtobuf),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: false}))
	if err != nil {
		return nil, fmt.Errorf("prepare to send traces: %w", err)
	}
	e.sender = &sender{SpanExporter: exporter, host: u.Host}
	e.provider = sdk.NewTracerProvider(
		sdk.WithSampler(sdk.AlwaysSample()), // package trace has sampled them
		sdk.WithIDGenerator(ids{}),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "stampede"), attribute.String("service.version", source.Version),
			attribute.String("service.instance.id", source.Name))),
		sdk.WithBatcher(e.sender, sdk.WithBatchTimeout(sendInterval), sdk.WithExportTimeout(sendTimeout),
			sdk.WithMaxQueueSize(maxWaiting), sdk.WithMaxExportBatchSize(maxBatch)))
	e.tracer = e.provider.Tracer("stampede")
	return e, nil
}

// Lost returns how many spans no collector has received since the start: they did not fit, or the collector did not
// accept them.
func (e *Exporter) Lost() int64 { return e.sender.lost.Load() }

// Record accepts a span, see trace.Tracer.
func (e *Exporter) Record(s *trace.Span) {
	if !e.sender.admit() {
		return
	}
	ctx := context.WithValue(context.Background(), spanKey{}, s)
	if s.Parent != ([8]byte{}) {
		ctx = otel.ContextWithRemoteSpanContext(ctx, otel.NewSpanContext(otel.SpanContextConfig{
			TraceID: s.Trace, SpanID: s.Parent, TraceFlags: otel.FlagsSampled, Remote: true,
		}))
	}
	_, span := e.tracer.Start(ctx, s.Name, otel.WithTimestamp(s.Begin), otel.WithAttributes(attributes(s.Notes)...))
	if s.ErrorCode != "" {
		span.SetStatus(codes.Error, s.ErrorCode)
	}
	span.End(otel.WithTimestamp(s.End))
}

// attributes converts notes. Their names get the prefix "stampede.", so that they do not collide with other attributes.
func attributes(notes []trace.SpanNote) []attribute.KeyValue {
	list := make([]attribute.KeyValue, len(notes))
	for i, n := range notes {
		if n.Text != "" {
			list[i] = attribute.String("stampede."+n.Name, n.Text)
		} else {
			list[i] = attribute.Int64("stampede."+n.Name, n.Number)
		}
	}
	return list
}

// Close sends the waiting spans. It takes at most closeTimeout, even if the collector does not respond.
func (e *Exporter) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := e.provider.Shutdown(ctx); err != nil {
		e.sender.stopSending(err)
	}
	_ = e.sender.Shutdown(ctx) // ends a request in progress
	e.client.CloseIdleConnections()
}

// ids is an id generator that returns the ids of the trace.Span in the context.
type ids struct{}

type spanKey struct{}

func (ids) NewIDs(ctx context.Context) (otel.TraceID, otel.SpanID) {
	s := ctx.Value(spanKey{}).(*trace.Span)
	return s.Trace, s.ID
}

func (ids) NewSpanID(ctx context.Context, _ otel.TraceID) otel.SpanID {
	return ctx.Value(spanKey{}).(*trace.Span).ID
}
