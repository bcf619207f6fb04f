import type { TraceContext } from '@gateway/contracts/trace/trace-context';

/** What `OTEL_TRACES_SAMPLER` may be. */
export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/**
 * What becomes of the `traceparent` of a caller. `continue`: its trace is continued, and sampled where the caller samples it, by our own
 * ratio at most. `trust`: the caller alone decides. `link`: a trace of its own, which refers to the caller's.
 */
export const CALLER_TRACES = ['continue', 'trust', 'link'] as const;

export interface SamplerSettings {
  readonly sampler: (typeof SAMPLERS)[number];
  /** From 0 to 1; for `traceidratio`. */
  readonly ratio: number;
  readonly callers: (typeof CALLER_TRACES)[number];
}

export interface Sampler {
  readonly isLinked: boolean;
  /** Of a trace that begins here. */
  root(): boolean;
  /** Of a trace that a caller has begun. */
  continued(caller: TraceContext): boolean;
}

/**
 * Decides by chance and not by the trace's id: a caller chooses that one.
 *
 * @param random from 0 to 1
 */
export function createSampler({ sampler, ratio, callers }: SamplerSettings, random = Math.random): Sampler {
  const share = sampler.endsWith('always_off') ? 0 : sampler.endsWith('always_on') ? 1 : ratio;
  const isParentBased = sampler.startsWith('parentbased');
  const root = () => random() < share;
  return {
    isLinked: callers === 'link',
    root,
    continued: ({ isSampled }) => {
      if (!isParentBased) return root();
      return isSampled && (callers === 'trust' || root());
    },
  };
}
