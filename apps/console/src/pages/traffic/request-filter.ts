import * as z from 'zod/mini';
import type { Filter } from './usage-query.ts';

const text = z.catch(z.optional(z.string()), undefined);
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
