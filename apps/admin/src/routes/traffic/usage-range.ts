import { GatewayError } from '@gateway/contracts/gateway-error';
import { isTimeZone } from '@gateway/contracts/time-zone';
import { problem } from '@gateway/contracts/wire-types';
import { dayStartMs } from '@gateway/metering/ledger/budget-period';
import { z } from 'zod';

const DAY_MS = 86_400_000;
const DEFAULT_MS = 30 * DAY_MS;
const MAX_RANGE_MS = 800 * DAY_MS;

const Moment = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);
const EXPECTED = 'A date such as 2026-11-20, or a time with its zone such as 2026-11-20T08:00:00Z.';
const ZONE_EXPECTED = 'A name such as Europe/Berlin or UTC.';

const checked = (isValid: (text: string) => boolean, message: string) =>
  z.string().superRefine((text, context) => {
    if (isValid(text)) return;
    context.addIssue(problem([], { code: 'invalid_value', openai: message, anthropic: message }));
  });
const moment = checked((text) => Moment.safeParse(text).success, `Invalid time. ${EXPECTED}`);
const timeZone = checked(isTimeZone, `Unknown time zone. ${ZONE_EXPECTED}`);

/** `from` counts, `to` does not. Default: the last 30 days. `timeZone` is that of dates; default: UTC. */
export const rangeQuery = { from: moment.optional(), to: moment.optional(), timeZone: timeZone.optional() };

interface RangeQuery {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly timeZone?: string | undefined;
}

/** @throws {GatewayError} where the range ends before it begins, or is longer than 800 days */
export function rangeOf({ from, to, timeZone }: RangeQuery, nowMs: number): { fromMs: number; toMs: number } {
  const momentOf = (text: string): number =>
    timeZone !== undefined && z.iso.date().safeParse(text).success
      ? dayStartMs(timeZone, text)
      : Date.parse(text);
  // What has ended in this very millisecond counts.
  const toMs = to === undefined ? nowMs + 1 : momentOf(to);
  const fromMs = from === undefined ? toMs - DEFAULT_MS : momentOf(from);
  if (fromMs >= toMs) throw wrong("'from' must be before 'to'.");
  if (toMs - fromMs > MAX_RANGE_MS) throw wrong('A range may be at most 800 days long.');
  return { fromMs, toMs };
}

const wrong = (message: string): GatewayError =>
  new GatewayError('invalid_value', { message, path: ['from'] });
