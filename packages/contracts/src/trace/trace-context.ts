/** Where a span is: what `traceparent` says. */
export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** Its own header; `tracestate` and `baggage` are neither read nor passed on. */
export const TRACEPARENT_HEADER = 'traceparent';

/** Version, trace, span, flags. A later version may have more behind a dash. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const MAX_TRACEPARENT_LENGTH = 256;
const ONLY_ZEROS = /^0+$/;
const SAMPLED = 1;

/**
 * Reads a `traceparent` of W3C Trace Context, level 1 or 2; undefined for what is none.
 *
 * @see https://www.w3.org/TR/trace-context-2/#traceparent-header
 */
export function readTraceparent(header: string | readonly string[] | undefined): TraceContext | undefined {
  if (typeof header !== 'string' || header.length > MAX_TRACEPARENT_LENGTH) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(header.trim()) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (ONLY_ZEROS.test(traceId) || ONLY_ZEROS.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

export const traceparentOf = ({ traceId, spanId, isSampled }: TraceContext): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;

const hexDigits16 = (): string =>
  ((crypto.getRandomValues(new BigUint64Array(1))[0] ?? 0n) || 1n).toString(16).padStart(16, '0');

export const newSpanId = hexDigits16;
export const newTraceId = (): string => hexDigits16() + hexDigits16();
