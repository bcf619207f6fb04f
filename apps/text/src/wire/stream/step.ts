import type { Usage } from '../usage.ts';

/** One answer's events, turned step by step. Made per answer; holds that answer's state. */
export interface StreamStep<In, Out> {
  event(event: In): Iterable<Out>;
  /** The source has ended: give what is still owed. Called once. */
  end(): Iterable<Out>;
  /** Of an answer: whether nothing of it is missing but the marker of its end. Absent: that is never known. */
  readonly isComplete?: boolean;
  /** Of an answer: what it has used by what its source has reported until now; null where that is not known. Absent: its events have it. */
  readonly reported?: Usage | null;
  /** Of an answer: the model by its source's own name for it; null where that says none. */
  readonly model?: string | null;
  /** Whether what a whole answer used may still come. */
  readonly awaitsUsage?: boolean;
}

/** Two steps as one. */
export function chain<In, Middle, Out>(
  first: StreamStep<In, Middle>,
  second: StreamStep<Middle, Out>,
): StreamStep<In, Out> {
  return {
    *event(event) {
      for (const middle of first.event(event)) yield* second.event(middle);
    },
    *end() {
      for (const middle of first.end()) yield* second.event(middle);
      yield* second.end();
    },
  };
}

/** Everything that a step makes of a finished list. */
export function runStep<In, Out>(step: StreamStep<In, Out>, events: Iterable<In>): Out[] {
  const out: Out[] = [];
  for (const event of events) out.push(...step.event(event));
  out.push(...step.end());
  return out;
}
