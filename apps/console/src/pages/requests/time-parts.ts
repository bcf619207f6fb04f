import type { ShownRequest } from '../../api/types.ts';

export interface TimePart {
  readonly name: string;
  readonly color: string;
  /** What happened in it. */
  readonly about: string;
  readonly ms: number;
}

interface Measured extends Omit<TimePart, 'ms'> {
  readonly ms: (of: ShownRequest) => number;
}

/** What is measured by itself before the first output, in the order in which it happens. */
const BEFORE_OUTPUT: readonly Measured[] = [
  {
    name: 'Queue',
    color: 'grape',
    about: 'waiting for a worker',
    ms: ({ timing }) => timing.queuedMs ?? 0,
  },
  {
    name: 'Waiting',
    color: 'orange',
    about: 'for a free channel slot',
    ms: ({ timing }) => timing.waitedMs ?? 0,
  },
  {
    name: 'Other attempts',
    color: 'red',
    about: 'channels that did not answer',
    // Hedges run beside another attempt, so their time is counted with that one.
    ms: ({ attemptList }) =>
      attemptList.reduce(
        (sum, { outcome, isHedge, ms }) =>
          outcome === 'ok' || outcome === 'overtaken' || isHedge ? sum : sum + (ms ?? 0),
        0,
      ),
  },
  {
    name: 'Provider',
    color: 'indigo',
    about: 'until its first output',
    ms: ({ timing }) => timing.upstreamMs ?? 0,
  },
];

const GATEWAY = { name: 'Gateway', color: 'teal', about: 'the edge, the checks and the translation' };
const AFTER = {
  streamed: { name: 'Stream', color: 'cyan', about: 'from the first output to the last' },
  whole: { name: 'Answer', color: 'cyan', about: 'from the first output to the end' },
};

/** Where the time of a request went. The parts add up to its total, and none is negative, however roughly they were measured. */
export function timeParts(request: ShownRequest): TimePart[] {
  const { totalMs, firstOutputMs } = request.timing;
  const beforeOutputMs = Math.min(totalMs, firstOutputMs ?? totalMs);
  let leftMs = beforeOutputMs;
  const measured = BEFORE_OUTPUT.map(({ ms, ...part }) => {
    const taken = Math.min(leftMs, ms(request));
    leftMs -= taken;
    return { ...part, ms: taken };
  });
  const after = AFTER[request.isStreamed ? 'streamed' : 'whole'];
  return [{ ...GATEWAY, ms: leftMs }, ...measured, { ...after, ms: totalMs - beforeOutputMs }].filter(
    ({ ms }) => ms > 0,
  );
}
