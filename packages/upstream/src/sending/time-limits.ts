import type { ModelKind, Protocol } from '../protocol.ts';

/** The time limits of one attempt, in milliseconds. */
export interface TimeLimits {
  /** From the request's last byte to the first output of a streamed reply. */
  readonly firstOutputMs: number;
  /** The same for a reply that comes all at once, when the work is done. */
  readonly wholeOutputMs: number;
  /** Between two pieces of a request that is being sent. */
  readonly sendingMs: number;
  /** Between two pieces of a reply. */
  readonly idleMs: number;
  /** The whole attempt. */
  readonly totalMs: number;
}

/** What a channel may set, for all kinds of work or for one. */
type TimeLimitSettings = {
  readonly [Limit in 'firstOutputMs' | 'idleMs' | 'totalMs']?: number | undefined;
};

const SENDING_MS = 60_000;

/**
 * What is given where nothing is configured. Text begins within seconds. An image of high quality takes minutes, also until
 * the first event of its stream; so does a recording until its transcript begins. All of it fits into the time of a job.
 */
const DEFAULTS: Readonly<Record<ModelKind, Readonly<Record<keyof TimeLimitSettings, number>>>> = {
  text: { firstOutputMs: 60_000, idleMs: 60_000, totalMs: 600_000 },
  image: { firstOutputMs: 600_000, idleMs: 600_000, totalMs: 600_000 },
  speech: { firstOutputMs: 300_000, idleMs: 120_000, totalMs: 600_000 },
  transcription: { firstOutputMs: 600_000, idleMs: 300_000, totalMs: 600_000 },
  embedding: { firstOutputMs: 60_000, idleMs: 60_000, totalMs: 300_000 },
  rerank: { firstOutputMs: 60_000, idleMs: 60_000, totalMs: 300_000 },
  moderation: { firstOutputMs: 60_000, idleMs: 60_000, totalMs: 300_000 },
  // Until the session is made, which has no work in it. How long it lasts, and may be idle, is the service's to bound.
  realtime: { firstOutputMs: 15_000, idleMs: 60_000, totalMs: 30_000 },
};

/** The limits of one kind of work: what is set for it counts first, then what is set for all of the channel's. */
export function buildTimeLimits(
  kind: ModelKind,
  ofChannel: TimeLimitSettings = {},
  ofKind: TimeLimitSettings = {},
): TimeLimits {
  const defaults = DEFAULTS[kind];
  const firstOutputMs = ofKind.firstOutputMs ?? ofChannel.firstOutputMs;
  const idleMs = ofKind.idleMs ?? ofChannel.idleMs;
  const totalMs = ofKind.totalMs ?? ofChannel.totalMs ?? defaults.totalMs;
  return {
    firstOutputMs: firstOutputMs ?? defaults.firstOutputMs,
    wholeOutputMs: firstOutputMs ?? totalMs,
    sendingMs: idleMs ?? SENDING_MS,
    idleMs: idleMs ?? defaults.idleMs,
    totalMs,
  };
}

const KIND_OF: Readonly<Record<Protocol, ModelKind>> = {
  responses: 'text',
  messages: 'text',
  chat: 'text',
  gemini: 'text',
  converse: 'text',
  images: 'image',
  speech: 'speech',
  transcriptions: 'transcription',
  embeddings: 'embedding',
  rerank: 'rerank',
  moderations: 'moderation',
  completions: 'text',
  translations: 'transcription',
  realtime: 'realtime',
};

/** What a request of this protocol is for. */
export const kindOfProtocol = (protocol: Protocol): ModelKind => KIND_OF[protocol];
