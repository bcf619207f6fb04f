import * as z from 'zod/mini';
import type { CallerFilter, Filter, Group } from './usage-query.ts';

/** Texts that look like numbers are numbers in an address. */
const text = z.catch(
  z.optional(
    z.pipe(
      z.union([z.string(), z.number()]),
      z.transform((value) => String(value)),
    ),
  ),
  undefined,
);

/** What an address says of filters. The empty text stands for none: no team, no channel. */
export const FILTER_MEMBERS = {
  ...{ model: text, team: text, keyId: text, channel: text, endpoint: text, outcome: text },
  ...{ errorCode: text, status: text },
  ...{ endUser: text, session: text, label: text, owner: text },
  failed: z.catch(z.optional(z.boolean()), undefined),
} satisfies Record<Group | CallerFilter, typeof text> & { failed: unknown };

const milliseconds = z.catch(z.optional(z.number().check(z.minimum(0))), undefined);

/** What an address says of single requests beside what usage is filtered by. */
export const REQUEST_MEMBERS = {
  minTotalMs: milliseconds,
  minFirstOutputMs: milliseconds,
  /** Requests with such an attempt, whichever channel answered. */
  attemptChannel: text,
  attemptOutcome: text,
};
export type RequestFilter = Filter & {
  readonly [Name in keyof typeof REQUEST_MEMBERS]?: z.output<(typeof REQUEST_MEMBERS)[Name]>;
};
