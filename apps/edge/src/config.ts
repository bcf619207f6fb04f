import { JOB_REPLY_TIMEOUT_MS } from '@gateway/contracts/time-limits';
import { LoadSettings, ProcessSettings, setting } from '@gateway/service-kit/config';
import { z } from 'zod';

const list = (text: string) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

/** One origin or several, separated by commas: `http://text:8081` or `http://10.0.0.5:8081,http://10.0.0.6:8081`. */
const serviceUrls = (fallback: string) =>
  z
    .string()
    .default(fallback)
    .transform(list)
    .refine((urls) => urls.length > 0 && urls.every(isHttpOrigin), {
      error: 'must be an http URL without a path, or several separated by commas',
    });

function isHttpOrigin(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    url.protocol === 'http:' &&
    url.pathname === '/' &&
    url.search === '' &&
    url.username === ''
  );
}

/** An idle connection takes a quarter of that, of a process that does nothing else. */
const HEAP_BYTES_OF_CONNECTION = 64 * 1024;

/** The edge's settings that do not depend on where the services run. */
export const EdgeSettings = ProcessSettings.extend(LoadSettings.shape).extend({
  PORT: setting.port(8080),
  EDGE_METRICS_PORT: setting.port(9080),
  REDIS_URL: setting.redisUrl(),
  GATEWAY_SECRET: setting.secret(),
  GATEWAY_TIME_ZONE: setting.timeZone(),
  USAGE_SUMS_DAYS: setting.keepSumsDays(),
  /**
   * How long a service may take to begin its reply, from the end of the request. For requests that wait for a job, a
   * shorter time counts as `JOB_REPLY_TIMEOUT_MS`.
   */
  EDGE_SERVICE_TIMEOUT_MS: setting.integer(JOB_REPLY_TIMEOUT_MS, { min: 1 }),
  /** How long a whole request may take to arrive, upload included. */
  EDGE_REQUEST_TIMEOUT_MS: setting.integer(600_000, { min: 1 }),
  /** How long no byte of a request's body may arrive. */
  EDGE_BODY_IDLE_TIMEOUT_MS: setting.integer(30_000, { min: 1 }),
  /** The least average rate of a body, so that many slow ones cannot hold connections; 0 for any rate. */
  EDGE_BODY_MIN_BYTES_PER_SECOND: setting.integer(500),
  /** How long a caller may take no byte of a reply that waits for it, or of what waits for it on a WebSocket. */
  EDGE_REPLY_IDLE_TIMEOUT_MS: setting.integer(60_000, { min: 1 }),
  /** The least average rate at which a caller takes a reply that waits for it; 0 for any rate. */
  EDGE_REPLY_MIN_BYTES_PER_SECOND: setting.integer(500),
  /** Connections of callers at the same time; each takes some kilobytes while it is idle. */
  EDGE_MAX_CONNECTIONS: setting.partOfHeap(HEAP_BYTES_OF_CONNECTION),
  /** The same of one address; 0 for any number. */
  EDGE_MAX_CONNECTIONS_PER_ADDRESS: setting.integer(0),
  /** Whether `x-forwarded-*` headers come from a trusted proxy in front of the edge. Otherwise they are replaced. */
  EDGE_TRUST_PROXY: z.stringbool().default(false),
  /** Web origins whose pages may call the gateway, separated by commas; `*` for all. Default: none. */
  EDGE_CORS_ORIGINS: z.string().default('').transform(list),
  /** Whether responses are offered over WebSockets. Otherwise a handshake gets 426, and clients go on over HTTP. */
  EDGE_WEBSOCKETS: z.stringbool().default(true),
  /** WebSockets that this edge holds open at a time. */
  EDGE_MAX_WEBSOCKETS: setting.integer(10_000, { min: 1 }),
  /** WebSockets that one key may have open at this edge. */
  EDGE_MAX_WEBSOCKETS_PER_KEY: setting.integer(200, { min: 1 }),
});
export type EdgeSettings = z.infer<typeof EdgeSettings>;

/** The settings of an edge with services in other processes. */
export const EdgeConfig = EdgeSettings.extend({
  TEXT_URL: serviceUrls('http://127.0.0.1:8081'),
  IMAGE_URL: serviceUrls('http://127.0.0.1:8082'),
  AUDIO_URL: serviceUrls('http://127.0.0.1:8083'),
  RETRIEVAL_URL: serviceUrls('http://127.0.0.1:8084'),
});
export type EdgeConfig = z.infer<typeof EdgeConfig>;
