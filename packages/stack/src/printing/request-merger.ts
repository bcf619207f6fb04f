import type { LogRecord } from './request-line.ts';

interface RequestMergerOptions {
  /** Called once for each request, and for each job without a waiting caller. */
  readonly onRequest: (record: LogRecord) => void;
  /** Calls back later; an argument so that a test decides when. */
  readonly schedule: (callback: () => void, delayMs: number) => void;
}

export interface RequestMerger {
  add(record: LogRecord): void;
  /** Passes on everything that is still held. */
  flush(): void;
}

/** The lines of one request so far. */
interface Parts {
  edge?: LogRecord;
  service?: LogRecord;
  job?: LogRecord;
}

/** The processes write in batches, every 100 ms and in no order; on a busy machine a line may take longer. */
const LATE_MS = 3_000;
/** With a caller who reads slowly the edge's line comes long after the service's. */
const EDGE_MS = 60_000;
const MAX_REQUESTS = 2_000;

/**
 * Joins the lines that edge, service and worker write of one request, by its id. The edge's line has the reply that the
 * caller got, and its duration; in one process it is its service's as well. A job that continues after its caller got a reply is passed on separately.
 */
export function createRequestMerger({ onRequest, schedule }: RequestMergerOptions): RequestMerger {
  const held = new Map<string, Parts>();
  const done = new Set<string>();

  const emit = (id: string): void => {
    const parts = held.get(id);
    if (parts === undefined) return;
    held.delete(id);
    done.add(id);
    const [oldest] = done;
    if (done.size > MAX_REQUESTS && oldest !== undefined) done.delete(oldest);
    onRequest(merged(parts));
  };

  const hold = (id: string, part: keyof Parts, record: LogRecord): void => {
    // An id that a caller uses again is another request.
    if (held.get(id)?.[part] !== undefined) emit(id);
    const parts = held.get(id) ?? {};
    parts[part] = record;
    held.set(id, parts);
    const emitThese = (): void => {
      if (held.get(id) === parts) emit(id);
    };
    if (isComplete(parts)) emitThese();
    else schedule(emitThese, parts.edge === undefined ? EDGE_MS : LATE_MS);
    const [oldest] = held.keys();
    if (held.size > MAX_REQUESTS && oldest !== undefined) emit(oldest);
  };

  return {
    add: (record) => {
      const { requestId: id } = record;
      const part = partOf(record);
      const isAlone = id === undefined || part === null || (part === 'job' && done.has(id));
      if (isAlone) onRequest(record);
      else hold(id, part, record);
    },
    flush: () => {
      for (const id of [...held.keys()]) emit(id);
    },
  };
}

/** Null for the admin service and for requests over a WebSocket: no other process logs them. */
const partOf = ({ service, jobId, method, transport }: LogRecord): keyof Parts | null => {
  if (service === 'admin' || transport === 'websocket') return null;
  if (service === 'edge') return 'edge';
  return jobId !== undefined && method === undefined ? 'job' : 'service';
};

const ACCEPTED = 202;

/** Whether no further line is to come: a job whose caller waits has one too. In one process the edge's line is its service's. */
const isComplete = ({ edge, service, job }: Parts): boolean => {
  if (edge === undefined) return false;
  const answered = edge.forwardedTo === undefined ? edge : service;
  if (answered === undefined) return false;
  return answered.jobId === undefined || answered.status === ACCEPTED || job !== undefined;
};

const merged = ({ edge, service, job }: Parts): LogRecord => {
  const known = { ...defined(job), ...defined(service), ...defined(edge) };
  const parts = [edge, service, job];
  // The edge logs a stream that broke as a 200.
  const failed = parts.some((part) => part?.outcome === 'failed') ? { outcome: 'failed' } : {};
  return { ...known, ...failed, level: Math.max(...parts.map((part) => part?.level ?? 0)) };
};

const defined = (record: LogRecord | undefined): object =>
  Object.fromEntries(Object.entries(record ?? {}).filter(([, value]) => value !== undefined));
