import { chooseDisturbances, type Disturbance } from './disturbances.ts';
import { createPrng } from './prng.ts';
import { REQUEST_KINDS, type RequestKindName } from './request-kinds.ts';

/** How the caller behaves. `stands`: it reads nothing for a while. */
export const MANNERS = ['patient', 'leaves', 'stands'] as const;
export type Manner = (typeof MANNERS)[number];

/** One request, or the few that belong together. */
export interface PlannedRequest {
  readonly atMs: number;
  /** `r2x0014`: round and number. */
  readonly name: string;
  readonly kind: RequestKindName;
  readonly edge: 'edge' | 'edge-2';
  readonly key: 'budgeted' | 'free';
  readonly manner: Manner;
  /** After so many milliseconds a caller leaves, or stands for so many. */
  readonly mannerMs: number;
}

export interface PlannedDisturbance {
  readonly atMs: number;
  readonly disturbance: Disturbance;
}

export interface Plan {
  readonly seed: number;
  readonly round: number;
  readonly requests: readonly PlannedRequest[];
  readonly disturbances: readonly PlannedDisturbance[];
}

export interface PlanOptions {
  readonly seed: number;
  readonly round: number;
  readonly durationMs: number;
  readonly requestsPerSecond: number;
  /** Between two disturbances on average. */
  readonly disturbanceEveryMs: number;
  /** Leaves out what takes longer to recover from than a short run may last. */
  readonly isShort: boolean;
}

const KINDS = Object.keys(REQUEST_KINDS).filter((name): name is RequestKindName => name in REQUEST_KINDS);

/** A short round leaves them to their stories. */
const LONG_KINDS: readonly RequestKindName[] = ['realtime session'];

/** What happens in one round: a pure function of its options. */
export function planRound(options: PlanOptions): Plan {
  const { seed, round, durationMs, requestsPerSecond, disturbanceEveryMs, isShort } = options;
  const prng = createPrng(`${seed} round ${round}`);
  const total = Math.floor((durationMs / 1000) * requestsPerSecond);
  const all = isShort ? KINDS.filter((name) => !LONG_KINDS.includes(name)) : KINDS;
  // Every kind comes equally often.
  const kinds = Array.from({ length: Math.ceil(total / all.length) }, () => prng.shuffled(all)).flat();
  const requests = kinds.slice(0, total).map((kind, index) => ({
    atMs: Math.floor((index / total) * durationMs),
    name: `r${round}x${String(index).padStart(4, '0')}`,
    kind,
    edge: prng.pick(['edge', 'edge-2'] as const),
    key: prng.pick(['budgeted', 'free'] as const),
    manner: prng.chance(0.15) ? prng.pick(MANNERS) : 'patient',
    mannerMs: prng.between(20, 800),
  }));
  const chosen = chooseDisturbances(prng, Math.floor(durationMs / disturbanceEveryMs), isShort);
  const disturbances = chosen.map((disturbance, index) => ({
    atMs: Math.floor((index + 0.2 + prng.next() * 0.6) * disturbanceEveryMs),
    disturbance,
  }));
  return { seed, round, requests, disturbances };
}
