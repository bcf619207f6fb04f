import type { Dialect } from '@gateway/contracts/gateway-error';

/** The state of a limit per minute after a request. */
export interface Rate {
  /** The counted unit, as both protocols' headers name it. */
  readonly unit: 'requests' | 'tokens';
  readonly limit: number;
  readonly remaining: number;
}

const MINUTE_MS = 60_000;
const SECOND_MS = 1000;

/** How long until the limit is unused again. */
const resetMs = ({ limit, remaining }: Rate): number => Math.ceil(((limit - remaining) * MINUTE_MS) / limit);

/** A duration in OpenAI's form: `120ms`, `1.898s`, `1m0s`. */
export function durationText(durationMs: number): string {
  if (durationMs < SECOND_MS) return `${durationMs}ms`;
  if (durationMs < MINUTE_MS) return `${durationMs / SECOND_MS}s`;
  return `${Math.floor(durationMs / MINUTE_MS)}m${(durationMs % MINUTE_MS) / SECOND_MS}s`;
}

/** RFC 3339, in whole seconds as Anthropic's API. */
const instantText = (atMs: number): string =>
  `${new Date(Math.ceil(atMs / SECOND_MS) * SECOND_MS).toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)}Z`;

/** The headers by which client libraries pace themselves. */
export function rateLimitHeaders(rate: Rate, dialect: Dialect, nowMs: number): [string, string][] {
  const { unit } = rate;
  const [prefix, limit, remaining, reset] =
    dialect !== 'anthropic'
      ? ['x-ratelimit-', `limit-${unit}`, `remaining-${unit}`, `reset-${unit}`]
      : [`anthropic-ratelimit-${unit}-`, 'limit', 'remaining', 'reset'];
  const waitMs = resetMs(rate);
  return [
    [prefix + limit, String(rate.limit)],
    [prefix + remaining, String(rate.remaining)],
    [prefix + reset, dialect === 'anthropic' ? instantText(nowMs + waitMs) : durationText(waitMs)],
  ];
}
