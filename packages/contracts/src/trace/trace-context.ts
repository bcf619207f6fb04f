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

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
/** Drawn at once: a request takes several ids. */
const drawn = new Uint8Array(2048);
let used = drawn.length;

function randomHex(bytes: number): string {
  if (used + bytes > drawn.length) {
    crypto.getRandomValues(drawn);
    used = 0;
  }
  let text = '';
  for (const end = used + bytes; used < end; used += 1) text += HEX[drawn[used] ?? 0];
  return text;
}

export const newTraceId = (): string => randomHex(16);
export const newSpanId = (): string => randomHex(8);
