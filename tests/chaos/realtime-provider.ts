import { setTimeout as delay } from 'node:timers/promises';
import type {
  RealtimeBehaviour,
  ResponseScript,
  SessionScript,
} from '@gateway/simulator/realtime/realtime-script';
import { answerTo, MARK, PROVIDERS, type ProviderName, type Stage } from './faults.ts';
import { createPrng } from './prng.ts';
import type { Attempted } from './world.ts';

interface RealtimeFault {
  readonly stage: Extract<Stage, 'healthy' | 'begun'>;
  /** It reports what it used. */
  readonly reports: boolean;
  readonly script: () => ResponseScript;
}

const SLOW_MS = 300;

/** Ways in which a provider makes a response. */
const FAULTS: Readonly<Record<string, RealtimeFault>> = {
  none: { stage: 'healthy', reports: true, script: () => ({}) },
  'slow to end': { stage: 'healthy', reports: true, script: () => ({ gate: delay(SLOW_MS) }) },
  incomplete: { stage: 'healthy', reports: true, script: () => ({ status: 'incomplete' }) },
  'ends reported three times': { stage: 'healthy', reports: true, script: () => ({ ends: 3 }) },
  'no usage': { stage: 'healthy', reports: false, script: () => ({ usage: null }) },
  failed: { stage: 'begun', reports: false, script: () => ({ status: 'failed', usage: null, pieces: 0 }) },
  'failed with usage': { stage: 'begun', reports: true, script: () => ({ status: 'failed' }) },
  'cut at its beginning': { stage: 'begun', reports: false, script: () => ({ cutAfter: 0 }) },
  'cut in the middle': { stage: 'begun', reports: false, script: () => ({ cutAfter: 1 }) },
};
const namesOf = (stage: Stage) => Object.keys(FAULTS).filter((name) => FAULTS[name]?.stage === stage);
const [HEALTHY, FAILING] = [namesOf('healthy'), namesOf('begun')];

/** Ways not to begin a session. */
const REFUSALS: readonly SessionScript[] = [
  {
    refuse: {
      status: 503,
      body: { error: { message: 'Busy.', type: 'server_error', param: null, code: null } },
    },
  },
  { first: { type: 'error', error: { type: 'server_error', message: 'Sorry.' } } },
  { first: 'close' },
];

/** What the response to a turn uses: other figures for each, so that none passes for another's. */
function usageOf(mark: string) {
  const [, number = 0, turn = 0] = (/x(\d+)t(\d+)/.exec(mark) ?? []).map(Number);
  return { input_tokens: 1000 + 8 * number + turn, output_tokens: 10 + turn };
}

const REALTIME_PATH = '/v1/realtime';

/** Tells a response of a session among what providers did. */
export const isOfSession = ({ path }: Attempted): boolean => path === REALTIME_PATH;

interface Seen extends Pick<Required<RealtimeBehaviour>, 'onSession'> {
  readonly onResponse: (response: Attempted) => void;
}

/** How a provider takes sessions, by the seed. */
export function realtimeProvider(seed: number, provider: ProviderName, seen: Seen): RealtimeBehaviour {
  const share = PROVIDERS[provider];
  let sessions = 0;
  const markIn = (asked: string) => asked.match(MARK)?.at(-1) ?? '';
  const faultOf = (mark: string) => {
    const prng = createPrng(`${seed} ${mark} ${provider} realtime`);
    const name = prng.pick(prng.chance(share) ? FAILING : HEALTHY);
    const fault = FAULTS[name];
    if (fault === undefined) throw new Error(`no fault ${name}`);
    return { name, ...fault };
  };
  return {
    session: () => {
      sessions += 1;
      const prng = createPrng(`${seed} session ${sessions} ${provider}`);
      return prng.chance(share) ? prng.pick(REFUSALS) : undefined;
    },
    response: (asked) => {
      const mark = markIn(asked);
      if (mark === '') return undefined;
      const words = answerTo(seed, mark).match(/.{1,24}/gsu) ?? [];
      return { words, usage: usageOf(mark), ...faultOf(mark).script() };
    },
    onSession: seen.onSession,
    onResponse: ({ asked, isComplete }) => {
      const mark = markIn(asked);
      if (mark === '') return;
      const { name: fault, stage, reports } = faultOf(mark);
      const { input_tokens: inputTokens, output_tokens: outputTokens } = usageOf(mark);
      seen.onResponse({
        ...{ provider, mark, path: REALTIME_PATH, fault, stage },
        isComplete: isComplete && stage === 'healthy',
        used: reports && isComplete ? { inputTokens, outputTokens } : { inputTokens: 0, outputTokens: 0 },
      });
    },
  };
}
