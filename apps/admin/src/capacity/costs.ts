/** What one thing costs, as it was measured. */
interface Cost {
  readonly value: number;
  readonly unit: 'µs' | 'bytes';
  readonly of: string;
  readonly source: keyof typeof SOURCES;
}

/** Where the figures are from. Times are processor time, which a busy machine changes less than the time that passes. */
export const SOURCES = {
  A: 'A process for each service, two cores of a virtual machine that others used too, Node 24, Redis 7.0.15, 2026-11-25: [the decision](decisions/2026-11-25-one-round-trip-for-limits-and-money.md)',
  B: 'The same machine, busier, 2026-11-26: measured beside a small request in one run, and scaled by what that takes in A',
  C: '`MEMORY USAGE` of Redis 7.0.15, and files of PostgreSQL 15, with thousands of each, 2026-11-25',
  D: 'The same machine, 2026-11-22: [the decision](decisions/2026-11-22-conversations-are-kept-by-reference.md)',
  E: 'What the gateway reckons with: [overload](operations.md#overload)',
  F: 'Counted in an event of the Responses protocol, as OpenAI sends it',
  G: 'A trial of such rows in SQLite, 2026-11-25',
} as const;

/** Every figure of the capacity model. */
export const COSTS = {
  edgeRequest: { value: 140, unit: 'µs', of: 'edge: a small request with limits and a budget', source: 'A' },
  textRequest: { value: 294, unit: 'µs', of: 'text: the same', source: 'A' },
  redisRequest: { value: 76, unit: 'µs', of: 'Redis: the same', source: 'A' },
  edgeKb: { value: 0.5, unit: 'µs', of: 'edge: each kilobyte of a request', source: 'B' },
  textKb: { value: 3.6, unit: 'µs', of: 'text: the same', source: 'B' },
  edgeEvent: { value: 23, unit: 'µs', of: 'edge: an event of a stream, 20 a second', source: 'B' },
  textEvent: { value: 29, unit: 'µs', of: 'text: the same', source: 'B' },
  textStored: { value: 95, unit: 'µs', of: 'text: storing a response', source: 'D' },
  redisStored: { value: 95, unit: 'µs', of: 'Redis: the same', source: 'D' },
  redisJob: { value: 800, unit: 'µs', of: 'Redis: a job of an image', source: 'B' },
  recorderRecord: { value: 6, unit: 'µs', of: 'recorder: a record, as a row of PostgreSQL', source: 'C' },
  process: { value: 130e6, unit: 'bytes', of: 'an idle process', source: 'B' },
  inFlight: {
    value: 262_144,
    unit: 'bytes',
    of: 'a request in flight, in the edge and in text',
    source: 'E',
  },
  reservation: { value: 1409, unit: 'bytes', of: 'Redis: a request in flight', source: 'C' },
  settledId: { value: 92, unit: 'bytes', of: 'Redis: the id of a settled request, for 8 days', source: 'C' },
  outboxRecord: { value: 749, unit: 'bytes', of: 'Redis: its record, for an hour', source: 'C' },
  storedResponse: {
    value: 3350,
    unit: 'bytes',
    of: 'Redis: a small stored response, for six hours after its last use',
    source: 'C',
  },
  movedResponse: { value: 120, unit: 'bytes', of: 'Redis: the same after that', source: 'C' },
  job: { value: 4000, unit: 'bytes', of: 'Redis: a job, for an hour', source: 'C' },
  endedJob: {
    value: 500,
    unit: 'bytes',
    of: 'Redis: what became of it, for two days (an estimate)',
    source: 'C',
  },
  key: { value: 1600, unit: 'bytes', of: 'Redis: a key with its first entry in the audit log', source: 'C' },
  databaseRecord: { value: 308, unit: 'bytes', of: 'PostgreSQL: a record with its indexes', source: 'C' },
  databaseResponse: {
    value: 2400,
    unit: 'bytes',
    of: 'database: a small stored response',
    source: 'G',
  },
  event: { value: 258, unit: 'bytes', of: 'network: an event of a stream', source: 'F' },
  token: {
    value: 5,
    unit: 'bytes',
    of: 'network: the same text in a reply that is not streamed',
    source: 'F',
  },
} as const satisfies Readonly<Record<string, Cost>>;
