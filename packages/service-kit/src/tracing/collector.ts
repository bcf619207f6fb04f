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
 */
export function openCollector(address: Partial<CollectorAddress> = {}): Collector {
  const delegate = createOtlpHttpExportDelegate<Uint8Array, Record<string, never>>(
    convertLegacyHttpOptions(address, 'TRACES', 'v1/traces', { 'Content-Type': 'application/x-protobuf' }),
    {
      serializeRequest: (message) => message,
      deserializeResponse: () => ({}),
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
