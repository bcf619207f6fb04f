import { AS_CHAT, BY_KEY, NOT_STORED, OVER_HTTP } from './processor-time-rows.ts';
import type { Figures } from './row.ts';
import { NOT_TRACED } from './traced.ts';

/** What the gateway may cost: a figure of ours over one of another contender, or the figure itself. */
export interface Goal {
  /** Of this row. */
  readonly row: string;
  readonly way: 'each' | 'one';
  readonly limits?: boolean;
  /** The row whose figure we compare with: a translated request is held against one that the peer passes. */
  readonly baseRow?: string;
  /** `itself`: the gateway's own figure of the same row for a request that is not stored; `http`: for one over HTTP; `key`: for one by a key; `chat`: for a chat; `untraced`: for one that is not traced. */
  readonly over: 'portkey' | 'floor' | 'itself' | 'http' | 'key' | 'chat' | 'untraced' | null;
  readonly atMost?: number;
  readonly atLeast?: number;
}

const goal = (
  row: string,
  way: Goal['way'],
  atMost: number,
  more: Partial<Omit<Goal, 'row' | 'way' | 'atMost'>> = {},
): Goal => ({ row, way, over: 'portkey', atMost, ...more });

/** `docs/architecture.md` shows the same table. */
export const GOALS: readonly Goal[] = [
  goal('small', 'each', 0.6),
  goal('small', 'each', 1.3, { over: 'floor' }),
  goal('small', 'each', 0.7, { limits: true }),
  goal('small', 'each', 1.5, { limits: true, over: 'floor' }),
  goal('small', 'one', 0.33),
  goal('small', 'one', 0.4, { limits: true }),
  goal('translated', 'each', 0.75, { baseRow: 'small' }),
  goal('translated', 'one', 0.45, { baseRow: 'small' }),
  goal('stored', 'each', 1.25, { over: 'itself' }),
  goal('stored', 'one', 1.25, { over: 'itself' }),
  goal('signed', 'each', 1.1, { over: 'key' }),
  goal('signed', 'one', 1.1, { over: 'key' }),
  goal('token', 'each', 1.1, { over: 'key' }),
  goal('token', 'one', 1.1, { over: 'key' }),
  goal('embeddings', 'each', 1, { over: 'chat' }),
  goal('embeddings', 'one', 1, { over: 'chat' }),
  goal('batch-line', 'each', 2, { over: 'chat' }),
  goal('batch-line', 'one', 2, { over: 'chat' }),
  goal('traced', 'each', 1.05, { over: 'untraced' }),
  goal('traced', 'one', 1.05, { over: 'untraced' }),
  goal('chain', 'each', 1.5, { over: null }),
  goal('chain', 'one', 1.5, { over: null }),
  goal('agent', 'each', 0.5),
  goal('agent', 'each', 1.25, { over: 'floor' }),
  goal('agent', 'each', 0.55, { limits: true }),
  goal('agent', 'one', 0.4),
  goal('agent', 'one', 0.45, { limits: true }),
  goal('agent-translated', 'each', 0.8, { baseRow: 'agent' }),
  goal('agent-translated', 'one', 0.7, { baseRow: 'agent' }),
  goal('agent-repeated', 'each', 0.35),
  goal('agent-repeated', 'one', 0.3),
  goal('event', 'each', 0.8),
  goal('event', 'each', 1.15, { over: 'floor' }),
  goal('event', 'one', 0.45),
  goal('event-translated', 'each', 1.5, { baseRow: 'event' }),
  goal('event-translated', 'one', 1, { baseRow: 'event' }),
  goal('streams', 'each', 1.05),
  goal('streams', 'one', 0.7),
  goal('socket', 'each', 1, { over: 'http' }),
  goal('socket', 'one', 1, { over: 'http' }),
  goal('socket-memory', 'each', 100, { over: null }),
  goal('socket-memory', 'one', 100, { over: null }),
  goal('latency', 'each', 0.85),
  goal('latency', 'each', 0.95, { limits: true }),
  goal('latency', 'one', 0.45),
  goal('latency', 'one', 0.5, { limits: true }),
  { row: 'throughput', way: 'each', limits: true, over: 'portkey', atLeast: 1.5 },
  { row: 'throughput', way: 'one', limits: true, over: 'portkey', atLeast: 2.5 },
  goal('memory-idle', 'each', 900, { over: null }),
  goal('memory-idle', 'one', 400, { over: null }),
  goal('memory-loaded', 'each', 1000, { over: null }),
  goal('memory-loaded', 'one', 600, { over: null }),
  goal('start', 'each', 4000, { over: null }),
  goal('start', 'one', 2500, { over: null }),
  goal('upload', 'each', 16, { over: null }),
  goal('job-begin', 'each', 5, { over: null }),
  goal('job-end', 'each', 5, { over: null }),
  goal('job-redis', 'each', 4, { over: null }),
];

/** Names of the gateway's own other figures. */
const OWN: { readonly [over: string]: (name: string) => string } = {
  itself: (name) => name + NOT_STORED,
  http: (name) => name + OVER_HTTP,
  key: (name) => name + BY_KEY,
  chat: (name) => name + AS_CHAT,
  untraced: (name) => name + NOT_TRACED,
};

export interface Outcome {
  readonly goal: Goal;
  readonly measured: number;
  readonly met: boolean;
}

/** Holds the goals against what was measured; goals whose figures were not measured are left out. */
export function holdGoals(goals: readonly Goal[], measured: ReadonlyMap<string, Figures>): Outcome[] {
  return goals.flatMap((goal) => {
    const name = `gateway (${goal.way})${goal.limits ? ', limits' : ''}`;
    const ours = measured.get(goal.row)?.get(name);
    const other = goal.over === null ? null : (OWN[goal.over]?.(name) ?? goal.over);
    const base = other === null ? { value: 1 } : measured.get(goal.baseRow ?? goal.row)?.get(other);
    if (ours === undefined || base === undefined) return [];
    const ratio = ours.value / base.value;
    const met = ratio <= (goal.atMost ?? Number.POSITIVE_INFINITY) && ratio >= (goal.atLeast ?? 0);
    return [{ goal, measured: ratio, met }];
  });
}
