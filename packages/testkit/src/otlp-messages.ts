import protobuf from 'protobufjs';
import { z } from 'zod';

/**
 * The messages of OTLP that hold traces, with the numbers of their fields.
 *
 * @see https://github.com/open-telemetry/opentelemetry-proto/blob/v1.9.0/opentelemetry/proto/trace/v1/trace.proto
 */
const root = protobuf.parse(`
syntax = "proto3";
message Request { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message Resource { repeated KeyValue attributes = 1; }
message ScopeSpans { repeated Span spans = 2; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4;
  string name = 5; int32 kind = 6; fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9; repeated Event events = 11; repeated Link links = 13; Status status = 15;
}
message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; }
message Link { bytes trace_id = 1; bytes span_id = 2; }
message Status { string message = 2; int32 code = 3; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value {
  string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; ArrayValue array_value = 5;
} }
message ArrayValue { repeated AnyValue values = 1; }
`).root;
const Message = root.lookupType('Request');

const Scalar = z.object({
  stringValue: z.string().optional(),
  boolValue: z.boolean().optional(),
  intValue: z.number().optional(),
  doubleValue: z.number().optional(),
});
const scalarOf = ({ stringValue, boolValue, intValue, doubleValue }: z.infer<typeof Scalar>) =>
  stringValue ?? boolValue ?? intValue ?? doubleValue ?? '';
const AnyValue = Scalar.extend({ arrayValue: z.object({ values: z.array(Scalar).default([]) }).optional() });
const Attributes = z
  .array(z.object({ key: z.string(), value: AnyValue }))
  .default([])
  .transform((pairs) =>
    Object.fromEntries(
      pairs.map(({ key, value }) => [key, value.arrayValue?.values.map(scalarOf) ?? scalarOf(value)]),
    ),
  );
const hexOf = z.instanceof(Uint8Array).transform((bytes) => Buffer.from(bytes).toString('hex'));
const KINDS = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'] as const;
const nanoseconds = z.number().transform((count) => count / 1e6);

const Span = z.object({
  traceId: hexOf,
  spanId: hexOf,
  parentSpanId: hexOf.optional().transform((id) => id || null),
  traceState: z.string().default(''),
  name: z.string(),
  kind: z.number().transform((number) => KINDS[number] ?? 'unspecified'),
  /** Unix milliseconds. */
  startTimeUnixNano: nanoseconds,
  endTimeUnixNano: nanoseconds,
  attributes: Attributes,
  events: z
    .array(z.object({ name: z.string(), timeUnixNano: nanoseconds, attributes: Attributes }))
    .default([]),
  links: z.array(z.object({ traceId: hexOf, spanId: hexOf })).default([]),
  status: z.object({ code: z.number().default(0) }).default({ code: 0 }),
});
const Request = z.object({
  resourceSpans: z
    .array(
      z.object({
        resource: z.object({ attributes: Attributes }),
        scopeSpans: z.array(z.object({ spans: z.array(Span).default([]) })).default([]),
      }),
    )
    .default([]),
});

/** A span as a collector receives it, with the attributes of its resource. */
export interface ReceivedSpan extends z.infer<typeof Span> {
  readonly resource: Readonly<Record<string, unknown>>;
}

/** @throws {Error} for bytes that are no such message */
export function readSpans(bytes: Buffer): ReceivedSpan[] {
  const { resourceSpans } = Request.parse(Message.toObject(Message.decode(bytes), { longs: Number }));
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) => spans.map((span) => ({ ...span, resource: resource.attributes }))),
  );
}
