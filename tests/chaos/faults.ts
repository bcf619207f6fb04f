import type { ScriptedReply } from '@gateway/simulator/script/script-queue';
import { createPrng } from './prng.ts';

/**
 * How far a provider came with a request before it failed.
 * `refused`: certainly not begun. `unknown`: nothing came that is an answer, and nobody knows whether it began. `begun`: part of
 * the answer came.
 */
export type Stage = 'healthy' | 'refused' | 'unknown' | 'begun';

interface Fault {
  readonly stage: Stage;
  readonly reply: ScriptedReply;
}

/** Longer than any time limit of the suite's channels. */
const FOREVER_MS = 600_000;

/** Every scripted way in which a provider answers. */
export const FAULTS = {
  none: { stage: 'healthy', reply: {} },
  paced: { stage: 'healthy', reply: { paceMs: 15 } },
  bursts: { stage: 'healthy', reply: { burst: 7, paceMs: 40 } },
  'slow to begin': { stage: 'healthy', reply: { slowFirstByteMs: 400 } },
  'status 500': { stage: 'refused', reply: { status: 500 } },
  'status 502 as HTML': { stage: 'refused', reply: { html: true } },
  'status 503': { stage: 'refused', reply: { fault: 'overloaded' } },
  'status 529': { stage: 'refused', reply: { status: 529 } },
  'status 429 with retry-after': { stage: 'refused', reply: { status: 429, retryAfterSeconds: 1 } },
  'quota exhausted': { stage: 'refused', reply: { fault: 'quota' } },
  'model unknown': { stage: 'refused', reply: { fault: 'model-not-found' } },
  'reset before headers': { stage: 'unknown', reply: { closeBeforeResponse: true } },
  'reset after headers': { stage: 'unknown', reply: { cutAfter: 0 } },
  'silent before headers': { stage: 'unknown', reply: { slowFirstByteMs: FOREVER_MS } },
  'silent after headers': { stage: 'unknown', reply: { slowFirstEventMs: FOREVER_MS } },
  empty: { stage: 'unknown', reply: { empty: true } },
  garbage: { stage: 'unknown', reply: { garbageAfter: 0 } },
  'cut at its beginning': { stage: 'begun', reply: { cutAfter: 2 } },
  'cut in the middle': { stage: 'begun', reply: { cutAfter: 9 } },
  'silent in the middle': { stage: 'begun', reply: { stallAfter: 9 } },
  'ended too early': { stage: 'begun', reply: { endAfter: 9 } },
  'error event': { stage: 'begun', reply: { errorEventAfter: 9 } },
  'garbage in the middle': { stage: 'begun', reply: { garbageAfter: 9 } },
} as const satisfies Record<string, Fault>;
export type FaultName = keyof typeof FAULTS;

export const stageOf = (name: FaultName): Stage => FAULTS[name].stage;

const NAMES = Object.keys(FAULTS).filter((name): name is FaultName => name in FAULTS);
const HEALTHY = NAMES.filter((name) => stageOf(name) === 'healthy');
const FAILING = NAMES.filter((name) => stageOf(name) !== 'healthy');

/** The providers, in the order of their priority, by how often one fails. The last one is always healthy. */
export const PROVIDERS = { first: 0.35, second: 0.25, last: 0 } as const;
export type ProviderName = keyof typeof PROVIDERS;

export const PROVIDER_NAMES = ['first', 'second', 'last'] as const satisfies readonly ProviderName[];

/** Names one turn of a request: `r2x0014t1` is the first turn of the fourteenth request of round 2. */
export const MARK = /r\d+x\d{4}t\d+/g;

/** What a provider does with a request, by its mark alone: a later attempt meets the same. */
export function faultOf(seed: number, mark: string, provider: ProviderName): FaultName {
  const prng = createPrng(`${seed} ${mark} ${provider}`);
  return prng.pick(prng.chance(PROVIDERS[provider]) ? FAILING : HEALTHY);
}

const WORDS = [
  'harbour',
  'lantern',
  'granite',
  'meadow',
  'über',
  'signal',
  '港口',
  'copper',
  'thistle',
  '🌊',
];

/** The answer that every text model gives to a request: its mark and words, so that nobody can take it for another's. */
export function answerTo(seed: number, mark: string): string {
  const prng = createPrng(`${seed} ${mark} answer`);
  const words = Array.from({ length: prng.between(8, 60) }, () => prng.pick(WORDS));
  return `${mark}: ${words.join(' ')}.`;
}
