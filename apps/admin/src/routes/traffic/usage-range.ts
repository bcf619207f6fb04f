import { GatewayError } from '@gateway/contracts/gateway-error';
import { problem } from '@gateway/contracts/wire-types';
import { z } from 'zod';

const DAY_MS = 86_400_000;
const DEFAULT_MS = 30 * DAY_MS;
const MAX_RANGE_MS = 800 * DAY_MS;

const Moment = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);
const EXPECTED = 'A date such as 2026-11-20 (UTC), or a time with its zone such as 2026-11-20T08:00:00Z.';

const moment = z.string().superRefine((text, context) => {
  if (Moment.safeParse(text).success) return;
  const message = `Invalid time. ${EXPECTED}`;
  context.addIssue(problem([], { code: 'invalid_value', openai: message, anthropic: message }));
});

/** `from` counts, `to` does not. Default: the last 30 days. */
export const rangeQuery = { from: moment.optional(), to: moment.optional() };

/** @throws {GatewayError} where the range ends before it begins, or is longer than 800 days */
export function rangeOf(
  { from, to }: { from?: string | undefined; to?: string | undefined },
  nowMs: number,
): { fromMs: number; toMs: number } {
  // What has ended in this very millisecond counts.
  const toMs = to === undefined ? nowMs + 1 : Date.parse(to);
  const fromMs = from === undefined ? toMs - DEFAULT_MS : Date.parse(from);
  if (fromMs >= toMs) throw wrong("'from' must be before 'to'.");
  if (toMs - fromMs > MAX_RANGE_MS) throw wrong('A range may be at most 800 days long.');
  return { fromMs, toMs };
}

const wrong = (message: string): GatewayError =>
  new GatewayError('invalid_value', { message, path: ['from'] });
