import { z } from 'zod';
import { problem } from './wire-types.ts';

/** The endpoint families that a key can be limited to. */
export const EndpointScope = z.enum([
  'responses',
  'messages',
  'chat',
  'gemini',
  'images',
  'speech',
  'transcriptions',
  'embeddings',
  'rerank',
  'moderations',
  'completions',
  'files',
  'batches',
  'realtime',
]);
export type EndpointScope = z.infer<typeof EndpointScope>;

const perMinute = {
  requestsPerMinute: z.int().min(1).optional(),
  tokensPerMinute: z.int().min(1).optional(),
  imagesPerMinute: z.int().min(1).optional(),
  audioSecondsPerMinute: z.int().min(1).optional(),
};

/** Units per minute. Absent: not limited. */
export const ModelLimits = z.strictObject(perMinute);
export type ModelLimits = z.infer<typeof ModelLimits>;

/** Both are bounded because the identity that contains them is a header of every request to a service. */
const MAX_MODEL_LIMITS = 16;
const MAX_PATTERN_CHARACTERS = 100;

const tooMany = `There may be limits for at most ${MAX_MODEL_LIMITS} model patterns.`;

/** By model pattern (`gpt-*`). A request counts on every entry whose pattern fits the caller's name of its model. */
const LimitsByModel = z
  .record(z.string().min(1).max(MAX_PATTERN_CHARACTERS), ModelLimits)
  .superRefine((all, context) => {
    if (Object.keys(all).length > MAX_MODEL_LIMITS)
      context.addIssue(problem([], { code: 'invalid_value', openai: tooMany, anthropic: tooMany }));
  });

/** Units per minute, requests at once, and units per minute for some models besides those for all. Absent: not limited. */
export const Limits = z.strictObject({
  ...perMinute,
  concurrentRequests: z.int().min(1).optional(),
  models: LimitsByModel.optional(),
});
export type Limits = z.infer<typeof Limits>;

/** The priority of a key's jobs among those of other keys. */
export const JobShare = z.strictObject({
  /** How many of the key's jobs may be at work at once. Absent: as many as workers take. */
  concurrentJobs: z.int().min(1).optional(),
  /** How many turns the key gets for one of a key without a weight. Absent: 1. */
  jobWeight: z.int().min(1).max(100).optional(),
  /** Jobs of a lower number go first. Absent: 5. */
  jobPriority: z.int().min(0).max(9).optional(),
  /** How many bytes of results are kept for the key. Absent: as many as for every key. */
  keptResultBytes: z.int().min(1).optional(),
});
export type JobShare = z.infer<typeof JobShare>;

/** What a key may be limited to, beyond what a team may. */
export const KeyLimits = Limits.extend(JobShare.shape);
export type KeyLimits = z.infer<typeof KeyLimits>;

/** Which keys are served last when a process has more to do than it can: those of a low priority are refused first. */
export const KeyPriority = z.enum(['low', 'normal', 'high']);
export type KeyPriority = z.infer<typeof KeyPriority>;

export const BudgetPeriod = z.enum(['day', 'week', 'month', 'total']);
export type BudgetPeriod = z.infer<typeof BudgetPeriod>;

/** What may be spent in a calendar period. */
export const Budget = z.strictObject({
  microUsd: z.int().min(0),
  period: BudgetPeriod,
  /** Whether models without a price may be used at all. */
  allowUnpriced: z.boolean(),
});
export type Budget = z.infer<typeof Budget>;

/** An account that a request counts on: the key itself, or its team. */
export const Account = z.object({
  /** A key's id, or `team:NAME`. */
  owner: z.string().min(1),
  limits: Limits,
  budget: Budget.nullable(),
});
export type Account = z.infer<typeof Account>;

/**
 * The caller's identity, from the edge to a service. Signed by the edge, valid for 60 s, sent as `x-gateway-identity`.
 * A service ignores members that it does not know.
 */
export const Identity = z.object({
  keyId: z.string().min(1),
  keyName: z.string(),
  team: z.string().nullable(),
  /** Model patterns (`gpt-*`) that the key may use; null means all. */
  models: z.array(z.string()).nullable(),
  /** Endpoint families that the key may call; null means all. */
  endpoints: z.array(EndpointScope).nullable(),
  /** The key's own account and its team's, if they have a limit or a budget. */
  accounts: z.array(Account),
  /** There is a secret by which its webhooks are signed. */
  signsWebhooks: z.boolean().optional(),
  /** Absent: normal. */
  priority: KeyPriority.optional(),
  /** The priority of its queued jobs; absent: as those of every key. */
  jobShare: JobShare.optional(),
  /** The only channel that its requests may go to; absent: any. */
  channel: z.string().optional(),
  /** The draft of the configuration by which its request is sent; absent: the configuration in use. */
  draft: z.string().optional(),
  /** Only of a WebSocket, and where a client secret is made: the keyed hash of the secret that it was opened with, by which its key is looked up again. */
  secretHash: z.string().optional(),
  /** Only of a WebSocket that was opened with one: the client secret, which says for which session. */
  clientSecret: z.string().optional(),
});
export type Identity = z.infer<typeof Identity>;

/** Headers between the edge and the services. The edge removes them from a caller's request. */
export const INTERNAL_HEADERS = {
  /** The first header of every request of the edge, after `host` and `connection`; it marks where a request begins. */
  edge: 'x-gateway-edge',
  identity: 'x-gateway-identity',
  requestId: 'x-request-id',
  /**
   * An id of the edge's own for a request that it may send again, to another replica: the same each time. Callers may choose the
   * request id, and the same one for several requests.
   */
  delivery: 'x-gateway-delivery',
  /** Set where that request may have reached another replica before. */
  redelivery: 'x-gateway-redelivery',
  /** The edge has not counted the request on its limits on requests: the service does. */
  uncounted: 'x-gateway-uncounted',
  /** The span of the edge that the request belongs to, as `traceparent` has it. Only where the edge exports traces. */
  trace: 'x-gateway-trace',
} as const;

/** On the answer to a request that was sent by a draft of the configuration, with the draft's id: a service of an older version does not know of drafts. */
export const DRAFT_HEADER = 'x-gateway-draft';

/** A request that the edge may deliver twice: its id, the same each time, and whether it was delivered before. */
export interface Delivery {
  readonly id: string;
  readonly isSecond: boolean;
}
