import { JobKind, JobStatus } from '@gateway/contracts/jobs';
import { Price } from '@gateway/contracts/models/price';
import { ShownWebhook } from '@gateway/contracts/webhooks';
import { AuditEntry } from '@gateway/metering/audit/audit-log';
import { KeySettings, TeamSettings } from '@gateway/metering/keys/settings';
import { MEASURES } from '@gateway/metering/usage/sums';
import { GROUP_BY } from '@gateway/metering/usage/usage-query';
import { SCOPES } from '@gateway/upstream/health/targets/target';
import { MODEL_KINDS, PROTOCOLS } from '@gateway/upstream/protocol';
import { z } from 'zod';
import { Role } from '../sessions/roles.ts';
import { SignInMethod } from '../sessions/session-store.ts';

/** What the admin API answers. Lists are pages: `next` is the `cursor` of the next one, null on the last. */
export const instant = z.iso.datetime({ offset: true });
export const page = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({ data: z.array(item), next: z.string().nullable() });

const { limits, budget } = TeamSettings.shape;
const shownLimits = limits.unwrap();
const shownBudget = budget.unwrap().required().nullable();
const keys = KeySettings.shape;

const shownKey = {
  id: z.string(),
  name: z.string(),
  team: z.string().nullable(),
  owner: z.string().nullable(),
  models: keys.models.unwrap().nullable(),
  endpoints: keys.endpoints.unwrap().nullable(),
  limits: keys.limits.unwrap(),
  budget: shownBudget,
  expiresAt: instant.nullable(),
  disabled: z.boolean(),
  priority: keys.priority.unwrap(),
  labels: z.record(z.string(), z.string()),
  webhookUrl: z.string().nullable(),
  createdAt: instant,
  revokedAt: instant.nullable(),
  /** Until when the secret before the last rotation still works. */
  oldSecretUntil: instant.nullable(),
  /** When the secret was made by which its webhooks are signed. */
  webhookSecretMadeAt: instant.nullable(),
  /** Until when they are signed with the one before as well. */
  oldWebhookSecretUntil: instant.nullable(),
};
const warnings = z.array(z.string());

export const KeyReply = z.strictObject(shownKey);
export const ChangedKeyReply = z.strictObject({ ...shownKey, warnings });
/** `key` is the secret, shown this once. */
export const NewKeyReply = z.strictObject({ ...shownKey, key: z.string(), warnings });
export const RotatedKeyReply = z.strictObject({ ...shownKey, key: z.string() });
/** `webhookSecret` is shown this once. */
export const WebhookSecretReply = z.strictObject({ ...shownKey, webhookSecret: z.string() });
export const KeyPage = page(KeyReply);

export const TeamReply = z.strictObject({
  name: z.string(),
  limits: shownLimits,
  budget: shownBudget,
  createdAt: instant,
});
export const TeamPage = page(TeamReply);

export const GatewayReply = z.strictObject({
  /** The base URL of Messages clients; all others append `/v1`. */
  publicUrl: z.string(),
  /** The time zone of budget periods. */
  timeZone: z.string(),
});

/** A person's sign-in to the console. */
export const SessionReply = z.strictObject({
  id: z.string(),
  /** What the person said, or what the identity provider says of the person. */
  name: z.string(),
  /** How the person signed in. */
  method: SignInMethod,
  role: Role,
  /** A team lead's; null: the role has no teams. */
  teams: z.array(z.string()).nullable(),
  /** A key holder's; null: the role has no key. */
  keyId: z.string().nullable(),
  createdAt: instant,
  /** It ends then, or earlier if it is not used. */
  expiresAt: instant,
  lastUsedAt: instant,
  address: z.string().nullable(),
  userAgent: z.string().nullable(),
});
/** `permissions` are the calls that the person may make, such as `GET /admin/v1/keys`. */
export const OwnSessionReply = SessionReply.extend({ permissions: z.array(z.string()) });
/** Beside the admin token and a key, which are always there. */
export const SignInReply = z.strictObject({
  /** The identity provider, as the button names it; null: none is set. */
  oidc: z.strictObject({ name: z.string() }).nullable(),
});
export const SessionList = page(SessionReply);

export const WebhookReply = ShownWebhook;
export const WebhookPage = page(WebhookReply);

export const AuditPage = page(AuditEntry.extend({ id: z.string() }));

const sum = z.number().min(0);
const { audioMs: _, ...counted } = Object.fromEntries(MEASURES.map((name) => [name, sum]));
/** Off by less than a factor of 1.585: they come from buckets. */
const percentiles = { p50: sum.nullable(), p95: sum.nullable() };
export const UsagePage = page(
  z.strictObject({
    ...Object.fromEntries(GROUP_BY.map((name) => [name, z.string().optional()])),
    ...counted,
    audioSeconds: sum,
    /** Of the requests that ended well; null where none was measured. */
    firstOutputMs: z.strictObject(percentiles),
    totalMs: z.strictObject(percentiles),
  }),
);

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
  errorCode: z.string().nullable(),
  /** Whether it certainly was not done and its input is still there. */
  canRequeue: z.boolean(),
});
export const JobPage = page(JobReply);

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
  errorCode: z.string().nullable(),
  /** When its result goes; null where there is none. */
  expiresAt: instant.nullable(),
  /** Null once its queue has forgotten it, an hour after its end. */
  run: z
    .strictObject({
      requestId: z.string(),
      attempts: z.int(),
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
  /** What is kept of its result. Images have a URL that holds for an hour, for admins only. */
  assets: z.array(z.strictObject({ id: z.string(), contentType: z.string(), url: z.string().nullable() })),
});

/** What is left of limits and of the budget at this moment. */
export const BalanceReply = z.strictObject({
  limits: z.array(
    z.strictObject({
      limit: z.string(),
      /** The pattern of the models that it applies to; null: all. */
      model: z.string().nullable(),
      value: z.number(),
      remaining: z.number(),
    }),
  ),
  budget: z
    .strictObject({
      period: z.string(),
      usd: z.number(),
      spentUsd: z.number(),
      /** For requests in flight. */
      reservedUsd: z.number(),
      remainingUsd: z.number(),
      resetsAt: instant.nullable(),
    })
    .nullable(),
});

export const KeyBalanceList = page(BalanceReply.extend({ id: z.string() }));

/** A page of a list whose `next` has this form. */
export const pageQuery = (next: RegExp) =>
  z.strictObject({
    limit: z.coerce.number().int().min(1).max(200).default(50),
    /** `next` of the page before. */
    cursor: z.string().regex(next, "it is not the 'next' of a page").optional(),
  });
