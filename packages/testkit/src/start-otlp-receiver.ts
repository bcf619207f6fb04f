import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { type ReceivedSpan, readSpans } from './otlp-messages.ts';
import { waitFor } from './wait-for.ts';

export type { ReceivedSpan } from './otlp-messages.ts';

/** What a collector does with a batch: takes it, says that it has not taken 300 of its spans, refuses it with this status, or says nothing at all. */
export type Reception = 'take' | 'take-partly' | 'hang' | number;

/** `partial_success { rejected_spans: 300, error_message: "no" }` */
const PARTLY = Buffer.from([0x0a, 7, 0x08, 0xac, 0x02, 0x12, 2, 0x6e, 0x6f]);

export interface OtlpReceiver {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** The headers and paths of all requests. */
  readonly requests: readonly { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  /** What becomes of the next batches. */
  receive(how: Reception): void;
  /** The spans of one trace, once this many have come. */
  trace(traceId: string, count: number): Promise<ReceivedSpan[]>;
  /** The first such span, once it has come. */
  find(isWanted: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan>;
  close(): Promise<void>;
}

/** A collector that reads OTLP over HTTP as protobuf, and keeps what it was sent. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  let reception: Reception = 'take';
  const answer = (body: Buffer, headers: IncomingHttpHeaders, response: ServerResponse) => {
    if (reception === 'hang') return;
    if (typeof reception === 'number') return void response.writeHead(reception).end('refused');
    spans.push(...readSpans(headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body));
    // An empty message says that all of it was taken.
    response
      .writeHead(200, { 'content-type': 'application/x-protobuf' })
      .end(reception === 'take-partly' ? PARTLY : undefined);
  };
  const server = createServer((request, response) => {
    requests.push({ path: request.url ?? '', headers: request.headers });
    buffer(request).then(
      (body) => answer(body, request.headers, response),
      () => undefined,
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    spans,
    requests,
    receive: (how) => {
      reception = how;
    },
    trace: (traceId, count) =>
      waitFor(
        () => {
          const found = spans.filter((span) => span.traceId === traceId);
          return found.length >= count && found;
        },
        { what: `${count} spans of the trace ${traceId}` },
      ),
    find: (isWanted) => waitFor(() => spans.find(isWanted), { what: 'a span that was looked for' }),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
