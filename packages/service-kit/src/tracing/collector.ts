import {
  convertLegacyHttpOptions,
  createOtlpHttpExportDelegate,
} from '@opentelemetry/otlp-exporter-base/node-http';
import type { Collector } from './span-export.ts';

/** In place of what the environment says. */
export interface CollectorAddress {
  readonly url: string;
  readonly headers: Record<string, string>;
}

const TAKEN = 0;

/**
 * A collector that takes OTLP over HTTP, by OpenTelemetry's own exporter: it reads its variables of address, headers, certificates,
 * time limit and compression from the environment of this process, and tries again what a collector cannot take now.
 *
 * @param onRejected gets how many spans of a batch it has not taken, where it has taken the others
 */
export function openCollector(
  address: Partial<CollectorAddress> = {},
  onRejected: (count: number) => void = () => undefined,
): Collector {
  const delegate = createOtlpHttpExportDelegate<Uint8Array, Record<string, never>>(
    convertLegacyHttpOptions(address, 'TRACES', 'v1/traces', { 'Content-Type': 'application/x-protobuf' }),
    {
      serializeRequest: (message) => message,
      deserializeResponse: (response: Uint8Array) => {
        const count = rejectedIn(response);
        if (count > 0) onRejected(count);
        return {};
      },
    },
    'otlp_http_span_exporter',
    // Of its own metrics, which nobody reads.
    { name: 'span', countItems: () => 1 },
    undefined,
  );
  return {
    send: (message) =>
      new Promise((resolve, reject) => {
        delegate.export(message, ({ code, error }) => (code === TAKEN ? resolve() : reject(error)));
      }),
    close: () => delegate.shutdown(),
  };
}

/** `ExportTraceServiceResponse.partial_success`, and the number of spans in that. */
const PARTIAL_SUCCESS = 0x0a;
const REJECTED_SPANS = 0x08;
const MAX_VARINT_BYTES = 10;

/** How many spans a collector says that it has not taken. Its words for it come after that number. */
function rejectedIn(response: Uint8Array): number {
  // A longer message has a length of two bytes.
  const start = (response[1] ?? 0) > 0x7f ? 3 : 2;
  if (response[0] !== PARTIAL_SUCCESS || response[start] !== REJECTED_SPANS) return 0;
  let count = 0;
  for (let index = 0; index < MAX_VARINT_BYTES; index += 1) {
    const byte = response[start + 1 + index] ?? 0;
    count += (byte & 0x7f) * 2 ** (7 * index);
    if (byte <= 0x7f) break;
  }
  return count;
}
