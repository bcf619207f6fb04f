import { BatchCounts, JobKind, JobStatus } from '@gateway/contracts/jobs';
import { Price } from '@gateway/contracts/models/price';
import { ShownWebhook } from '@gateway/contracts/webhooks';
import { AuditEntry } from '@gateway/metering/audit/audit-log';
import { SCOPES } from '@gateway/upstream/health/targets/target';
import { MODEL_KINDS, PROTOCOLS } from '@gateway/upstream/protocol';
import { z } from 'zod';
import { instant, page, warnings } from './page.ts';

export const GatewayReply = z.strictObject({
  /** The base URL of Messages clients; all others append `/v1`. */
  publicUrl: z.string(),
  /** The time zone of budget periods. */
  timeZone: z.string(),
});

export const WebhookReply = ShownWebhook;
export const WebhookPage = page(WebhookReply);

export const AuditPage = page(AuditEntry.extend({ id: z.string() }));

/** What rests of a channel: all of it, an account, or a model. */
export const RestReply = z.strictObject({
  scope: z.enum(SCOPES),
  account: z.string().nullable(),
  /** The channel's own name of it. */
  model: z.string().nullable(),
  /** `unproven`: its time is over, and the next request for it shows how it does. */
  state: z.enum(['resting', 'unproven']),
  /** Null: a person's rest. */
  cause: z.string().nullable(),
  reason: z.string(),
  /** Null: the gateway itself. */
  by: z.string().nullable(),
  since: instant,
  /** Null: until it is woken or, for wrong credentials, the channel has another key. */
  until: instant.nullable(),
  secondsLeft: z.number().nullable(),
  /** Failures that led to it, and rests of the same target before it without a longer time between them. */
  failures: z.int(),
  restsBefore: z.int(),
});

/** How often attempts ended how: `ok`, or a kind of failure. */
const attemptCounts = z.record(z.string(), z.int().min(0));

const shownChannel = {
  name: z.string(),
  provider: z.string(),
  origin: z.string(),
  speaks: z.array(z.string()),
  /** One for each key. */
  accounts: z.array(
    z.strictObject({
      name: z.string(),
      weight: z.number(),
      maxConcurrent: z.number().nullable(),
      /** The slots that all processes hold together; null where it is not bounded in common, and so not known. */
      inFlight: z.int().nullable(),
      /** Where its credentials come from, and how that stands by the process that asked last; null: it has a key, or nobody has asked yet. */
      credentials: z
        .strictObject({
          source: z.string(),
          /** Null: there are none, or they do not expire. */
          expiresAt: instant.nullable(),
          /** Why the last attempt to get them failed; null: it did not. */
          failure: z.string().nullable(),
          at: instant,
        })
        .nullable(),
    }),
  ),
  maxConcurrentPerProcess: z.number(),
  onDisconnect: z.string(),
  /** The models, by the callers' names and patterns, that have a route over it. */
  models: z.array(z.string()),
  rests: z.array(RestReply),
  /** Attempts of all processes, up to ten minutes more than the time says. */
  attempts: z.strictObject({ lastHour: attemptCounts, lastDay: attemptCounts }),
};

export const ChannelPage = page(z.strictObject(shownChannel));
export const RestedChannelReply = z.strictObject({
  name: z.string(),
  rests: z.array(RestReply),
  warnings,
});

export const ModelReply = z.strictObject({
  /** A name that callers may use; a pattern where it is not known which names it has. */
  name: z.string(),
  /** The entry of the configuration that it comes from. */
  pattern: z.string(),
  kind: z.enum(MODEL_KINDS),
  family: z.string().nullable(),
  /** Null: it is not known what it costs, and keys with a budget cannot use it unless that is allowed. */
  price: Price.nullable(),
  priceFrom: z.enum(['configuration', 'catalogue']).nullable(),
  contextWindow: z.number().nullable(),
  maxOutputTokens: z.number().nullable(),
  routes: z.array(
    z.strictObject({
      channel: z.string(),
      /** The channel's own name for it; null: the caller's. */
      model: z.string().nullable(),
      /** Lower numbers first; weight within one. */
      priority: z.number(),
      weight: z.number(),
      /** By which the channel can be asked for it. */
      protocols: z.array(z.enum(PROTOCOLS)),
      /** What the route charges, as a multiple of the model's price. */
      priceFactor: z.number(),
      /** Null: any. */
      builtInTools: z.array(z.string()).nullable(),
    }),
  ),
});
export const ModelPage = page(ModelReply);

export const QueuePage = page(
  z.strictObject({
    queue: z.string(),
    queued: z.int(),
    inProgress: z.int(),
    /** Between two attempts, or parked because their key has enough at work. */
    delayed: z.int(),
    failed: z.int(),
    completed: z.int(),
    /** Since when the job waits that has waited longest. */
    oldestQueuedAt: instant.nullable(),
  }),
);

const lastError = {
  /** Of the last attempt, if that failed: also of a job that will be tried again. */
  errorCode: z.string().nullable(),
  /** Only for those who see the whole gateway: a provider's message may quote what it was sent. */
  errorMessage: z.string().nullable(),
};

export const JobReply = z.strictObject({
  id: z.string(),
  kind: JobKind,
  status: JobStatus,
  keyId: z.string(),
  requestId: z.string(),
  model: z.string(),
  createdAt: instant,
  startedAt: instant.nullable(),
  finishedAt: instant.nullable(),
  /** How often it was begun. */
  attempts: z.int(),
  ...lastError,
  /** Whether it certainly was not done and its input is still there. */
  canRequeue: z.boolean(),
  /** The lines of a batch by what became of them, once it has begun; null for other jobs. */
  counts: BatchCounts.nullable(),
});
export const JobPage = page(JobReply);

/** A line of a batch. */
export const LineReply = z.strictObject({
  /** From 1. */
  line: z.int(),
  /** The id of its job, which there is from when the line is taken. */
  id: z.string(),
  status: JobStatus,
  ...lastError,
});
export const LinePage = page(LineReply);

/** One job as far as it is remembered: two days from its end. */
export const JobDetailReply = z.strictObject({
  id: z.string(),
  kind: JobKind,
  status: JobStatus,
  queue: z.string(),
  keyId: z.string(),
  model: z.string(),
  createdAt: instant,
  /** When it was begun for the last time. */
  startedAt: instant.nullable(),
  finishedAt: instant.nullable(),
  ...lastError,
  /** When its result goes; null where there is none. */
  expiresAt: instant.nullable(),
  /** Null once its queue has forgotten it, an hour after its end. */
  run: z
    .strictObject({
      requestId: z.string(),
      attempts: z.int(),
      /** When it is tried again; null unless it waits for its next attempt. */
      retryAt: instant.nullable(),
      /** Whether it waits until fewer jobs of its key are at work. */
      isParked: z.boolean(),
      /** How often another worker took it over from one that fell silent. */
      takeovers: z.int(),
      requeues: z.int(),
      isDetached: z.boolean(),
      batchId: z.string().nullable(),
    })
    .nullable(),
  history: z.array(
    z.strictObject({
      at: instant,
      event: z.enum(['queued', 'started', 'ended', 'webhook']),
      detail: z.string().nullable(),
    }),
  ),
  webhook: WebhookReply.nullable(),
  /** The lines of a batch by what became of them, once it has begun; null for other jobs. */
  counts: BatchCounts.nullable(),
  /** What is kept of its result. Images have a URL that holds for an hour, for admins only. */
  assets: z.array(z.strictObject({ id: z.string(), contentType: z.string(), url: z.string().nullable() })),
});

/** What a search by name finds. */
export const FoundReply = z.strictObject({
  kind: z.enum(['key', 'team', 'model', 'channel', 'person']),
  /** A key's id; of all others their name. */
  id: z.string(),
  name: z.string(),
  /** What tells it from others of this name. */
  about: z.string().nullable(),
});
export const FoundPage = page(FoundReply);
