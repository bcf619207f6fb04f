import { z } from 'zod';
import { CAUSES, type Cause } from '../causes/causes.ts';
import { keyOf, type Target } from '../targets/target.ts';

const causes = Object.keys(CAUSES).filter((name): name is Cause => name in CAUSES);

/** A rest as all replicas share it. Times are milliseconds since 1970 by Redis' clock. */
export const SharedRest = z.object({
  id: z.string(),
  channel: z.string(),
  account: z.string().nullable(),
  model: z.string().nullable(),
  /** Null: a person's. */
  cause: z.enum(causes).nullable(),
  /** Why, in words for people, without secrets. */
  reason: z.string(),
  /** The person's name; null: the gateway itself. */
  by: z.string().nullable(),
  sinceMs: z.number(),
  /** Null: only a person, or new settings of the channel, end it. */
  untilMs: z.number().nullable(),
  /** The provider or a person requested it: until it ends, its target is tried only if nothing else can be. */
  requested: z.boolean(),
  /** How many rests came before it in a row. */
  level: z.int().min(0),
  /** How many failures in a row led to it. */
  failures: z.int().min(0),
  /** For wrong credentials: which ones they were, as a hash. */
  settings: z.string().nullable(),
});
export type SharedRest = z.infer<typeof SharedRest>;

/** The same in this process. Times are `performance.now()`; `untilMs` is `Infinity` where there is none. */
export interface Rest extends Omit<SharedRest, 'untilMs'> {
  readonly untilMs: number;
}

/** A target has at most one rest of the gateway's and one of a person's. */
export const restField = (rest: Target & Pick<Rest, 'by'>): string =>
  `${rest.by === null ? 'gateway' : 'person'}\n${keyOf(rest)}`;

/** `offsetMs`: from this process's clock to Redis'. */
export const toShared = ({ untilMs, ...rest }: Rest, offsetMs: number): SharedRest => ({
  ...rest,
  sinceMs: rest.sinceMs + offsetMs,
  untilMs: untilMs === Number.POSITIVE_INFINITY ? null : untilMs + offsetMs,
});

export const fromShared = ({ untilMs, ...rest }: SharedRest, offsetMs: number): Rest => ({
  ...rest,
  sinceMs: rest.sinceMs - offsetMs,
  untilMs: untilMs === null ? Number.POSITIVE_INFINITY : untilMs - offsetMs,
});

/** What other replicas must know. Calls return at once. */
export interface RestSharing {
  began(rest: Rest): void;
  ended(rest: Rest): void;
  /** Whether this replica may probe what rested. */
  beginProbe(rest: Rest): Promise<boolean>;
  endProbe(rest: Rest): void;
}
