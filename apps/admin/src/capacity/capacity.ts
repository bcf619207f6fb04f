import { COSTS } from './costs.ts';
import type { Load } from './load.ts';

/** What cannot be multiplied by replicas: how much of it a load takes. */
export const LIMITED_PARTS = ['redis-processor', 'redis-memory', 'recorder', 'database-disk'] as const;
export type LimitedPart = (typeof LIMITED_PARTS)[number];

/** What a load needs. Bytes, and processes with one core and `PROCESS_BYTES` of memory each. */
export interface Capacity {
  readonly inFlight: number;
  readonly edges: number;
  readonly texts: number;
  readonly workers: number;
  readonly processBytes: number;
  readonly redisOperations: number;
  readonly redisBytes: number;
  readonly recordsPerDay: number;
  readonly records: number;
  readonly databaseBytes: number;
  readonly fileBytes: number;
  /** Bits a second between callers and edges, both ways together; as many again to text, and to providers. */
  readonly networkBits: number;
  readonly utilisation: Readonly<Record<LimitedPart, number>>;
  /** The part that gives way first. */
  readonly bottleneck: LimitedPart;
  /** At how many requests a second it does, where everything grows alike. */
  readonly fullAtRps: number;
}

/** Of a core: beyond it what waits grows quickly. */
const TARGET_OF_CORE = 0.6;
/** As the chart gives it to a process. */
const PROCESS_BYTES = 2 ** 30;
/** Jobs that a worker runs at a time, and how many of those places are taken. */
const WORKER_CONCURRENCY = 8;
const TARGET_OF_WORKER = 0.8;
const SETTLED_ID_DAYS = 8;
const OUTBOX_SECONDS = 3600;
const JOB_SECONDS = 3600;
/** So long stored responses are in Redis after their last use, by default. */
const HOT_SECONDS = 6 * 3600;
/** What becomes of a job, and of its result. */
const ENDED_JOB_DAYS = 2;
const RESULT_DAYS = 1;
const DAY_SECONDS = 86_400;
const KB = 1000;
const GB = 1e9;
const US = 1e-6;

export function capacityOf(load: Load): Capacity {
  const { rps, jobs, keys, seconds } = load;
  const average = load.average / 100;
  const events = rps * (load.streams / 100) * load.events;
  const storedRps = rps * (load.stored / 100);
  const bodyKb = rps * load['body-kb'];
  const inFlight = rps * seconds;

  const coresOf = (request: number, event: number, kb: number) =>
    (rps * request + events * event + bodyKb * kb) * US;
  const room = PROCESS_BYTES - COSTS.process.value;
  const processes = (cores: number, bytesOfEach: number) =>
    Math.max(1, Math.ceil(cores / TARGET_OF_CORE), Math.ceil((inFlight * bytesOfEach) / room));
  const inFlightBytes = COSTS.inFlight.value + load['body-kb'] * KB;
  const edges = processes(
    coresOf(COSTS.edgeRequest.value, COSTS.edgeEvent.value, COSTS.edgeKb.value),
    COSTS.inFlight.value,
  );
  const texts = processes(
    coresOf(COSTS.textRequest.value, COSTS.textEvent.value, COSTS.textKb.value) +
      storedRps * COSTS.textStored.value * US,
    inFlightBytes,
  );
  const workers = Math.ceil((jobs * load['job-seconds']) / (WORKER_CONCURRENCY * TARGET_OF_WORKER));

  const days = DAY_SECONDS * average;
  const stored = storedRps * days * load['stored-days'];
  const redisBytes =
    inFlight * COSTS.reservation.value +
    rps * days * SETTLED_ID_DAYS * COSTS.settledId.value +
    rps * OUTBOX_SECONDS * COSTS.outboxRecord.value +
    storedRps * HOT_SECONDS * COSTS.storedResponse.value +
    stored * COSTS.movedResponse.value +
    jobs * JOB_SECONDS * COSTS.job.value +
    jobs * days * ENDED_JOB_DAYS * COSTS.endedJob.value +
    keys * COSTS.key.value;
  const redisCores =
    (rps * COSTS.redisRequest.value + storedRps * COSTS.redisStored.value + jobs * COSTS.redisJob.value) * US;

  const recordsPerDay = (rps + jobs) * days;
  const records = recordsPerDay * load['record-days'];
  const databaseBytes = records * COSTS.databaseRecord.value + stored * COSTS.databaseResponse.value;

  const replyBytes =
    events * COSTS.event.value + rps * (1 - load.streams / 100) * load.events * COSTS.token.value;
  const utilisation = {
    'redis-processor': redisCores,
    'redis-memory': redisBytes / (load['redis-gb'] * GB),
    recorder: (rps + jobs) * COSTS.recorderRecord.value * US,
    'database-disk': databaseBytes / (load['disk-gb'] * GB),
  };
  const bottleneck = LIMITED_PARTS.reduce((first, part) =>
    utilisation[part] > utilisation[first] ? part : first,
  );
  return {
    inFlight,
    edges,
    texts,
    workers,
    processBytes: (edges + texts + workers) * COSTS.process.value + 2 * inFlight * COSTS.inFlight.value,
    redisOperations: 2 * rps + storedRps,
    redisBytes,
    recordsPerDay,
    records,
    databaseBytes,
    fileBytes: jobs * days * RESULT_DAYS * load['result-kb'] * KB,
    networkBits: (bodyKb * KB + replyBytes) * 8,
    utilisation,
    bottleneck,
    fullAtRps: rps / utilisation[bottleneck],
  };
}
